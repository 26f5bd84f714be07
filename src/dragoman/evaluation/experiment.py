"""Carrying out a plan: every method with every seed, and what each translates, in folders that can be gone on with.

out/plan.toml                     what was asked for
out/untuned/tests/TEST/final.txt  translations under the weights that all begin with
out/runs/METHOD/SEED/             a tuning run (see `tuning.run`), and in its folder `tests/TEST/`
    final.txt                     translations under the weights that it ended with
    000.txt, 001.txt, ...         translations under the weights after each iteration, if curves are wanted
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.core.files import open_output, read_lines
from dragoman.core.progress import SILENT, Progress
from dragoman.core.weights import Weights
from dragoman.evaluation.plan import Method, Plan, TestSet
from dragoman.evaluation.workers import run_all
from dragoman.metrics.references import read_references
from dragoman.model.bundle import Model
from dragoman.search.translator import Translator
from dragoman.training.tokenise import input_preparation
from dragoman.tuning.job import Job
from dragoman.tuning.run import Run

FINAL = "final.txt"
_PLAN = "plan.toml"


@dataclass(frozen=True)
class Cell:
    """One run of an experiment: a job, and the test sets that its weights translate."""

    job: Job
    folder: Path
    tests: tuple[TestSet, ...]
    curves: bool
    threads: int

    def __call__(self) -> None:
        """Tune, translate, or go on with it."""
        run = self.job.run(self.folder, threads=self.threads)
        steps = {FINAL: run.weights()}
        if self.curves:
            steps |= {f"{i:03}.txt": run.weights(i) for i in range(len(run.events()))}
        for test in self.tests:
            _translate(self.job, test, self.folder / "tests" / test.folder, steps, self.threads)


class Experiment:
    """A plan and the folder in which it is carried out."""

    def __init__(self, plan: Plan, out: Path):
        self.plan = plan
        self.out = out

    @classmethod
    def begin(cls, path: Path, out: Path) -> Experiment:
        """Read a plan and make its folder, or go on with one that was begun with the same plan."""
        plan = Plan.read(path)
        for test in plan.tests:
            read_references(test.references)
        text = path.read_text(encoding="utf-8")
        kept = out / _PLAN
        if kept.exists() and kept.read_text(encoding="utf-8") != text:
            raise DataError("was begun with another plan", path=out, expected="the same to go on, or a new folder")
        if not kept.exists():
            if out.exists() and any(out.iterdir()):
                raise DataError("is not empty and not an experiment's", path=out, expected="a new folder")
            with open_output(kept) as stream:
                stream.write(text.encode())
        return cls(plan, out)

    def folder(self, method: Method, seed: int) -> Path:
        """Where a method's run with some seed is."""
        return self.out / "runs" / method.folder / str(seed)

    @property
    def untuned(self) -> Path:
        """Where the translations under the first weights are."""
        return self.out / "untuned"

    def run(self, *, threads: int = 1, progress: Progress = SILENT) -> None:
        """Do all that is not done yet, in as many processes as there are threads."""
        plan = self.plan
        jobs = plan.jobs()
        workers = min(threads, len(jobs))
        share = max(1, threads // workers)
        cells = {
            f"{method.name}, seed {seed}": Cell(job, self.folder(method, seed), plan.tests, plan.curves, share)
            for (method, seed), job in jobs.items()
        }
        first = partial(_translate_untuned, plan.job, plan.tests, self.untuned, share)
        with progress.stage("the experiment") as done:
            watch = _Watch(cells, plan.job.loop.iterations + 1, done, progress)
            failed = run_all({"untuned": first, **cells}, workers, watch)
        if failed:
            name, error = next(iter(failed.items()))
            others = f" ({len(failed) - 1} more failed)" if len(failed) > 1 else ""
            raise DataError(f"{name}: {error}{others}; what is done is kept")


class _Watch:
    """Says what the runs have done since the last look; they say it in their folders."""

    def __init__(self, cells: dict[str, Cell], steps: int, done: object, progress: Progress):
        self._cells, self._steps, self._done, self._progress = cells, steps, done, progress
        self._seen = {name: len(Run(cell.folder).events()) for name, cell in cells.items()}

    def __call__(self) -> None:
        finished = 0.0
        for name, cell in self._cells.items():
            events = Run(cell.folder).events()
            for event in events[self._seen[name] :]:
                end = f" ({event['stop']})" if event["stop"] else ""
                self._progress.note(f"{name}, iteration {event['iteration']}: {event['score']:.2f}{end}")
            self._seen[name] = len(events)
            ended = bool(events and events[-1]["stop"])
            tests = [cell.folder / "tests" / test.folder / FINAL for test in cell.tests]
            translated = sum(path.exists() for path in tests) / len(tests) if ended else 0.0
            # Translating the tests counts as much as two iterations.
            finished += 1.0 if ended and translated == 1 else min(len(events) / (self._steps + 2), 0.9)
        assert callable(self._done)
        self._done(finished / len(self._cells))


def _translate_untuned(job: Job, tests: Sequence[TestSet], folder: Path, threads: int) -> None:
    model = Model.load(job.model)
    start = model.weights if job.start is None else model.read_weights(job.start)
    for test in tests:
        _translate(job, test, folder / "tests" / test.folder, {FINAL: start}, threads)


def _translate(job: Job, test: TestSet, folder: Path, steps: dict[str, Weights], threads: int) -> None:
    """Translate a test set under each of some weights, where that has not been done."""
    missing = {name: weights for name, weights in steps.items() if not (folder / name).exists()}
    if not missing:
        return
    model = Model.load(job.model)
    lines = list(input_preparation(model.settings, prepared=job.prepared)(read_lines(test.source)))
    translated: dict[str, bytes] = {}
    for name, weights in missing.items():
        key = weights.format()
        if key not in translated:
            translator = Translator(model, weights, limits=job.limits, space=job.space, threads=threads)
            texts = (f"{translation}\n" for translation in translator.translate(lines))
            translated[key] = "".join(texts).encode()
        with open_output(folder / name) as stream:
            stream.write(translated[key])
