"""Experiments: tuning runs of every method with every seed, and their translations, in folders that can be resumed.

out/plan.toml                     the plan
out/content.toml                  checksums of the files that it names
out/models/SYSTEM/                models of the systems that the plan trains
out/untuned/tests/TEST/final.txt  translations under the initial weights
out/runs/METHOD/SEED/             a tuning run (see `tuning.run`), and in its folder `tests/TEST/`
    final.txt                     translations under its final weights
    000.txt, 001.txt, ...         translations under the weights after each iteration, if there are curves

Beside `tests` there is `files.json` with the checksums of translations, and in `models` one for the files that
describe models (see `checksummed_files.py`).

If the plan has decisions, translations are in `tests/TEST/DECISION/` (those of iterations for the first decision only),
and the scales chosen for a run are in `decisions/DECISION.toml`. A decision by samples that is made several times has
`final-2.txt`, `final-3.txt`, ... beside `final.txt`.

Experiments may share a folder of runs. A run is there in a folder named by a digest of its job, and TEST and DECISION
are digests as well, so that plans with common parts do these once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError
from dragoman.core.files import open_output
from dragoman.core.options import format_toml, read_toml
from dragoman.core.own_files import EXPERIMENT, LOCK, is_leftover, lock_folder
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import RequiredFile, Runtime
from dragoman.core.store import digest_file
from dragoman.evaluation.experiments.plan import Method, Plan
from dragoman.evaluation.experiments.translations import Translations
from dragoman.metrics.references import read_references
from dragoman.model.bundle import Model, model_digest
from dragoman.tuning.runs.job import Job
from dragoman.tuning.runs.run import Run, check_unchanged

_PLAN, _CONTENT, _MODELS = "plan.toml", "content.toml", "models"


@dataclass(frozen=True)
class Cell:
    """One run of an experiment: a job, and the translations under its weights."""

    job: Job
    translations: Translations
    curves: bool

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.translations.folder

    @property
    def is_done(self) -> bool:
        """True if the run has ended and all its final translations are there."""
        events = _events(self)
        return bool(events and events[-1]["stop"]) and all(path.exists() for path in self.translations.finals)

    def __call__(self) -> None:
        """Tune and translate, or resume."""
        with self.job.running(self.folder, runtime=self.translations.runtime) as run:
            steps = {f"{i:03}.txt": run.weights(i) for i in range(len(run.events()))} if self.curves else {}
            self.translations.write(run.weights(), steps)


class Experiment:
    """A plan and the folder of its results; `shared` is a folder of runs that several experiments use."""

    def __init__(self, plan: Plan, out: Path, shared: Path | None = None):
        self.plan = plan if shared is None else plan.labelled()
        self.out = out
        self._shared = None if shared is None else shared.resolve()
        self._digests: dict[str, str] = {}

    @classmethod
    def begin(cls, path: Path, out: Path, *, restart: bool = False, shared: Path | None = None) -> Experiment:
        """Read a plan and make its folder, or resume a folder with the same plan and texts.

        A folder with another plan or other texts is refused, or emptied if `restart`.
        """
        with cls.claimed(path, out, restart=restart, shared=shared) as begun:
            return begun

    @classmethod
    @contextlib.contextmanager
    def claimed(
        cls, path: Path, out: Path, *, restart: bool = False, shared: Path | None = None
    ) -> Iterator[Experiment]:
        """Begin or resume, and lock the folder for the duration of the context.

        Restarting an experiment leaves files that Dragoman did not write, and shared runs.
        """
        plan = Plan.read(path, out / _MODELS)
        for test in plan.tests:
            read_references(test.references)
        if plan.systems is None:
            _check_trees(plan, path)
        text, content = path.read_bytes(), plan.content()
        kept = out / _PLAN
        _refuse_used(out)
        with lock_folder(out):
            if not kept.exists():
                _refuse_used(out)
                _begin(out, text, content)
            elif restart:
                _remove(out)
                _begin(out, text, content)
            elif kept.read_bytes() != text:
                raise DataError(
                    "has another plan",
                    path=out,
                    expected="the same plan to resume, `restart=True` to begin again, or a new folder",
                )
            check_unchanged(out, read_toml(out / _CONTENT), {"content": content})
            yield cls(plan, out, shared)

    def folder(self, method: Method, seed: int) -> Path:
        """Return the folder of a method's run with a seed."""
        if self._shared is not None:
            return self._shared / self._digest(replace(self.plan.job_of(method), seed=seed), f"{method.name} {seed}")
        return self.out / "runs" / method.folder / str(seed)

    @property
    def untuned(self) -> Path:
        """The folder of the translations under the initial weights."""
        if self._shared is not None:
            return self._shared / f"untuned-{self._digest(self.plan.job, '')}"
        return self.out / "untuned"

    def cells(self, *, runtime: Runtime = Runtime()) -> dict[tuple[str, int], Cell]:
        """Return the run of each method and seed, by their names; its models must have been trained."""
        return {
            (method.name, seed): Cell(
                job, self._translations(job, self.folder(method, seed), runtime), self.plan.curves
            )
            for (method, seed), job in self.plan.jobs().items()
        }

    def untuned_translations(self, *, runtime: Runtime = Runtime()) -> Callable[[], None]:
        """Return a function that translates under the initial weights; its models must have been trained."""
        return partial(_translate_untuned, self._translations(self.plan.job, self.untuned, runtime))

    def run(self, *, runtime: Runtime = Runtime()) -> None:
        """Do all that is not done yet; workers of a cluster must see the model, the texts and this folder."""
        plan, workers = self.plan, runtime.workers
        if plan.systems is not None:
            plan.systems.train(plan.job, runtime=runtime.here())
        workers.require([RequiredFile.of(plan.job.model, model_digest), RequiredFile.of(self.out / _PLAN, digest_file)])
        share = Runtime(threads=workers.threads_of(len(plan.methods) * len(plan.seeds)))
        cells = {f"{method}, seed {seed}": cell for (method, seed), cell in self.cells(runtime=share).items()}
        first = self.untuned_translations(runtime=share)
        if any(cell.translations.is_older for cell in cells.values()):
            runtime.warn(f"{self.out}: was written by an older version without checksums: damage may go unnoticed")
        with runtime.stage("the experiment") as progress_callback:
            watch = _Watch(cells, plan.job.loop.iterations + 1, progress_callback, runtime)
            failed = workers.run_all({"untuned": first, **cells}, watch, threads=share.threads)
        if failed:
            name, error = next(iter(failed.items()))
            others = f" ({len(failed) - 1} more failed)" if len(failed) > 1 else ""
            raise DataError(f"{name}: {error}{others}; what is done is kept")

    def _digest(self, job: Job, name: str) -> str:
        """Return a digest of all that a job depends on; files are read once."""
        if name not in self._digests:
            values = json.dumps([job.description(), job.content()], sort_keys=True)
            self._digests[name] = hashlib.sha256(values.encode()).hexdigest()[:16]
        return self._digests[name]

    def _translations(self, job: Job, folder: Path, runtime: Runtime) -> Translations:
        return Translations(job, self.plan.tests, self.plan.decisions, folder, runtime)


class _Watch:
    """Progress of runs, read from their folders."""

    def __init__(self, cells: dict[str, Cell], steps: int, progress_callback: ProgressCallback, runtime: Runtime):
        self._cells, self._steps, self._done, self._runtime = cells, steps, progress_callback, runtime
        self._seen = {name: len(_events(cell)) for name, cell in cells.items()}

    def __call__(self) -> None:
        finished = 0.0
        for name, cell in self._cells.items():
            events = _events(cell)
            for event in events[self._seen[name] :]:
                end = f" ({event['stop']})" if event["stop"] else ""
                self._runtime.note(f"{name}, iteration {event['iteration']}: {event['score']:.2f}{end}")
            self._seen[name] = len(events)
            ended = bool(events and events[-1]["stop"])
            files = cell.translations.finals
            translated = sum(path.exists() for path in files) / len(files) if ended else 0.0
            # Translating the test sets counts as two iterations.
            finished += (
                1.0 if ended and translated == 1 else min((len(events) + 2 * translated) / (self._steps + 2), 0.9)
            )
        self._done(finished / len(self._cells))


def _events(cell: Cell) -> list[dict[str, Any]]:
    """Return the events of a run; none if its log is damaged, which the run itself will report."""
    try:
        return Run(cell.folder).events()
    except DataError:
        return []


def _translate_untuned(translations: Translations) -> None:
    job = translations.job
    model = Model.load(job.model)
    with lock_folder(translations.folder):
        translations.write(job.start_weights(model), {})


def _refuse_used(out: Path) -> None:
    """Refuse a folder that has other files and no plan."""
    ours = (_CONTENT, LOCK)
    used = out.exists() and any(not is_leftover(entry) and entry.name not in ours for entry in out.iterdir())
    if used and not (out / _PLAN).exists():
        raise DataError("is not empty and not an experiment's", path=out, expected="a new folder")


def _begin(out: Path, text: bytes, content: dict[str, str]) -> None:
    """Write checksums and then the plan; an experiment begins when its plan is written."""
    with open_output(out / _CONTENT) as stream:
        stream.write(format_toml({"content": content}).encode())
    with open_output(out / _PLAN) as stream:
        stream.write(text)


def _remove(out: Path) -> None:
    """Remove all results of an experiment, but not its plan, unless a process still works in one of its folders."""
    with contextlib.ExitStack() as stack:
        for folder in sorted([*out.glob("runs/*/*/run.toml"), *out.glob("untuned/tests")]):
            stack.enter_context(lock_folder(folder.parent))
        EXPERIMENT.remove(out, keep=[_PLAN, _CONTENT])


def _check_trees(plan: Plan, path: Path) -> None:
    """Refuse a plan that lacks trees, before runs fail at a text without trees."""
    if not Model.load(plan.job.model).tree_features:
        return
    texts: dict[str, Path | None] = {"the tuning set": plan.job.trees}
    if plan.job.held_out is not None:
        texts["[held_out]"] = plan.job.held_out.trees
    texts |= {f"the test set '{test.name}'": test.trees for test in plan.tests}
    for name, trees in texts.items():
        if trees is None:
            raise DataError(f"has no trees for {name}, and the model needs them", path=path, expected='trees = "FILE"')
