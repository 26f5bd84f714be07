"""Carrying out a plan: every method with every seed, and what each translates, in folders that can be gone on with.

out/plan.toml                     what was asked for
out/content.toml                  what the files that it names held then
out/models/SYSTEM/                the models of systems that the plan trains
out/untuned/tests/TEST/final.txt  translations under the weights that all begin with
out/runs/METHOD/SEED/             a tuning run (see `tuning.run`), and in its folder `tests/TEST/`
    final.txt                     translations under the weights that it ended with
    000.txt, 001.txt, ...         translations under the weights after each iteration, if curves are wanted

Beside `tests` there is `files.json` with the checksums of translations, and in `models` one of what models say of
themselves (see `kept_files`).

If the plan has decisions, translations are in `tests/TEST/DECISION/` (those of iterations for the first one only), and
scales that were chosen for a run are in `decisions/DECISION.toml`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.core.checksums import digest_file
from dragoman.core.errors import DataError
from dragoman.core.files import open_output
from dragoman.core.own_files import EXPERIMENT, LOCK, is_leftover, lock_folder
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.core.toml import format_toml, read_toml
from dragoman.core.work.workers import RequiredFile
from dragoman.evaluation.experiments.plan import Method, Plan
from dragoman.evaluation.experiments.translations import Translations
from dragoman.metrics.references import read_references
from dragoman.model.bundle import Model, model_digest
from dragoman.model.source_trees import features_of_trees
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
        """Where it is."""
        return self.translations.folder

    def __call__(self) -> None:
        """Tune, translate, or go on with it."""
        with self.job.running(self.folder, runtime=self.translations.runtime) as run:
            steps = {f"{i:03}.txt": run.weights(i) for i in range(len(run.events()))} if self.curves else {}
            self.translations.write(run.weights(), steps)


class Experiment:
    """A plan and the folder in which it is carried out."""

    def __init__(self, plan: Plan, out: Path):
        self.plan = plan
        self.out = out

    @classmethod
    def begin(cls, path: Path, out: Path, *, restart: bool = False) -> Experiment:
        """Read a plan and make its folder, or go on with one that was begun with the same plan and texts.

        A folder that was begun with others is refused, or if `restart`, begun anew.
        """
        with cls.claimed(path, out, restart=restart) as begun:
            return begun

    @classmethod
    @contextlib.contextmanager
    def claimed(cls, path: Path, out: Path, *, restart: bool = False) -> Iterator[Experiment]:
        """Begin or go on, and keep all others off the folder until the end of this, whatever end that is.

        An experiment that is begun anew leaves what Dragoman did not write where it is.
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
                    "was begun with another plan",
                    path=out,
                    expected="the same to go on, `restart=True` to begin anew, or a new folder",
                )
            check_unchanged(out, read_toml(out / _CONTENT), {"content": content})
            yield cls(plan, out)

    def folder(self, method: Method, seed: int) -> Path:
        """Where a method's run with some seed is."""
        return self.out / "runs" / method.folder / str(seed)

    @property
    def untuned(self) -> Path:
        """Where the translations under the first weights are."""
        return self.out / "untuned"

    def run(self, *, runtime: Runtime = Runtime()) -> None:
        """Do all that is not done yet, by workers; those of a cluster must see the model, the texts and this folder."""
        plan, workers = self.plan, runtime.workers
        if plan.systems is not None:
            plan.systems.train(plan.job, runtime=runtime.here())
        jobs = plan.jobs()
        workers.require([RequiredFile.of(plan.job.model, model_digest), RequiredFile.of(self.out / _PLAN, digest_file)])
        share = Runtime(threads=workers.threads_of(len(jobs)))
        cells = {
            f"{method.name}, seed {seed}": Cell(
                job, self._translations(job, self.folder(method, seed), share), plan.curves
            )
            for (method, seed), job in jobs.items()
        }
        first = partial(_translate_untuned, self._translations(plan.job, self.untuned, share))
        if any(cell.translations.is_older for cell in cells.values()):
            runtime.warn(f"{self.out}: is of an older version, without checksums: damage may go unnoticed")
        with runtime.stage("the experiment") as progress_callback:
            watch = _Watch(cells, plan.job.loop.iterations + 1, progress_callback, runtime)
            failed = workers.run_all({"untuned": first, **cells}, watch, threads=share.threads)
        if failed:
            name, error = next(iter(failed.items()))
            others = f" ({len(failed) - 1} more failed)" if len(failed) > 1 else ""
            raise DataError(f"{name}: {error}{others}; what is done is kept")

    def _translations(self, job: Job, folder: Path, runtime: Runtime) -> Translations:
        return Translations(job, self.plan.tests, self.plan.decisions, folder, runtime)


class _Watch:
    """Says what the runs have done since the last look; they say it in their folders."""

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
            # Translating the tests counts as much as two iterations.
            finished += (
                1.0 if ended and translated == 1 else min((len(events) + 2 * translated) / (self._steps + 2), 0.9)
            )
        self._done(finished / len(self._cells))


def _events(cell: Cell) -> list[dict[str, Any]]:
    """What a run has told; nothing if its log is damaged, which the run itself will say."""
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
    """Refuse a folder that has something in it, but no plan: an experiment may just be beginning."""
    ours = (_CONTENT, LOCK)
    used = out.exists() and any(not is_leftover(entry) and entry.name not in ours for entry in out.iterdir())
    if used and not (out / _PLAN).exists():
        raise DataError("is not empty and not an experiment's", path=out, expected="a new folder")


def _begin(out: Path, text: bytes, content: dict[str, str]) -> None:
    """Write what is asked for; an experiment begins when its plan is written, and until then may be begun again."""
    with open_output(out / _CONTENT) as stream:
        stream.write(format_toml({"content": content}).encode())
    with open_output(out / _PLAN) as stream:
        stream.write(text)


def _remove(out: Path) -> None:
    """Remove what an experiment has written but for its plan, unless somebody still works in one of its folders."""
    with contextlib.ExitStack() as stack:
        for folder in sorted([*out.glob("runs/*/*/run.toml"), *out.glob("untuned/tests")]):
            stack.enter_context(lock_folder(folder.parent))
        EXPERIMENT.remove(out, keep=[_PLAN, _CONTENT])


def _check_trees(plan: Plan, path: Path) -> None:
    """Refuse a plan that lacks trees: runs would find out only when they come to a text without."""
    if not features_of_trees(Model.load(plan.job.model)):
        return
    texts: dict[str, Path | None] = {"the tuning set": plan.job.trees}
    if plan.job.held_out is not None:
        texts["[held_out]"] = plan.job.held_out.trees
    texts |= {f"the test set '{test.name}'": test.trees for test in plan.tests}
    for name, trees in texts.items():
        if trees is None:
            raise DataError(
                f"has no trees for {name}, and the model looks at them", path=path, expected='trees = "FILE"'
            )
