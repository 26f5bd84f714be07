"""Experiments and measures as steps: each is done once, can be killed and gone on with, and says how long it takes."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dragoman.core.files import open_output
from dragoman.core.options import format_toml
from dragoman.core.own_files import lock_folder
from dragoman.core.runtime import Runtime
from dragoman.evaluation.experiments.experiment import Experiment
from reproduction.collect import collect_experiment, collect_measure
from reproduction.layout import Paper, filled, merged
from reproduction.materials import Materials, key_of, run_dragoman
from reproduction.times import Times, Took

_DONE = "done.json"


@dataclass(frozen=True)
class Step:
    """Something to do once: a run of an experiment, or a measure. `kind` is what its duration may be compared by."""

    name: str
    kind: str
    lines: int
    is_done: bool
    run: Callable[[], None]


@dataclass(frozen=True)
class Timed:
    """A step that records how long it took; it can be sent to another process."""

    step: Step
    times: Times

    def __call__(self) -> None:
        """Do the step."""
        begun, used = time.monotonic(), _processor_seconds()
        self.step.run()
        seconds, elapsed = _processor_seconds() - used, time.monotonic() - begun
        self.times.add(Took(self.step.name, self.step.kind, self.step.lines, seconds, elapsed))


def _processor_seconds() -> float:
    """Return the time of processors that this process and the processes that it has waited for have used."""
    return sum(os.times()[:4])


@dataclass(frozen=True)
class Work:
    """An experiment or a measure of a paper."""

    paper: Paper
    recipe: Mapping[str, Any]
    materials: Materials

    @property
    def name(self) -> str:
        """Its name, that of the folder of its results."""
        return str(self.recipe["name"])

    @property
    def title(self) -> str:
        """Its name and that of the paper."""
        return f"{self.paper.name}/{self.name}"

    @property
    def needs(self) -> list[str]:
        """The texts and models that it needs."""
        return self.materials.names(self.asked)

    @property
    def asked(self) -> Any:
        """All that its results depend on, with names of texts and models."""
        raise NotImplementedError

    @cached_property
    def folder(self) -> Path:
        """Its folder, named by a digest of all that it depends on."""
        key = key_of(self.asked, self.materials.content(self.asked))
        return self.materials.work / type(self).__name__.lower() / f"{self.paper.name}-{self.name}-{key}"

    @property
    def is_ready(self) -> bool:
        """True if all texts and models are there."""
        return all(map(self.materials.is_there, self.needs))

    def steps(self) -> list[Step]:
        """Return its steps; all texts and models must be there."""
        raise NotImplementedError

    def outline(self) -> list[tuple[str, str, int]]:
        """Return name, kind and lines of its steps, before texts and models are there."""
        raise NotImplementedError

    def collect(self, results: Path, times: Times, *, runtime: Runtime) -> None:
        """Write raw results into a folder, with durations; all steps must have been done."""
        raise NotImplementedError

    def finished(self) -> Work | None:
        """Return the same work with only those methods whose steps are all done; None if there are not two of them."""
        return None


class Experimental(Work):
    """An experiment: a step for each method and seed."""

    @cached_property
    def asked(self) -> Any:
        """The plan, for the quick reproduction with the changes of `quick`."""
        plan, changes = dict(self.recipe["plan"]), dict(self.recipe.get("quick", {}))
        if not self.materials.quick:
            return plan
        changes.pop("names", None)
        for key in ("method", "test", "decision"):
            kept = changes.pop(f"{key}s", None)
            if kept is not None:
                plan = {**plan, key: [row for row in plan[key] if row.get("name") in kept]}
        return merged({**plan, "runs": 1}, changes)

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment, begun or resumed."""
        text = format_toml(self.materials.resolved(self.asked))
        path = self.folder.with_name(f"{self.folder.name}.toml")
        if not path.exists():
            with open_output(path) as stream:
                stream.write(text.encode())
        begun = Experiment.begin(path, self.folder, shared=self.materials.work / "runs")
        if begun.plan.systems is not None:
            with lock_folder(self.folder):
                begun.plan.systems.train(begun.plan.job)
        return begun

    def steps(self) -> list[Step]:
        """Return a step for each run."""
        cells = self.experiment.cells()
        return [
            Step(name, kind, lines, cell.is_done, cell)
            for (name, kind, lines), cell in zip(self.outline(), cells.values(), strict=True)
        ]

    def outline(self) -> list[tuple[str, str, int]]:
        """Return a row for each method and seed, by the method's rule and the lines of the tuning set."""
        rows = self.asked.get("method") or [{"name": name} for name in self.asked["adapt"]["systems"]]
        source, seeds = self.asked["source"], self.asked.get("runs", 3)
        lines = self.materials.lines(source) if self.is_ready else 0
        count = seeds if isinstance(seeds, int) else len(seeds)
        return [
            (f"{self.title}: {row['name']}, seed {seed}", f"{self.paper.name} {row['name']}", lines)
            for row in rows
            for seed in (range(1, count + 1) if isinstance(seeds, int) else seeds)
        ]

    def collect(self, results: Path, times: Times, *, runtime: Runtime) -> None:
        """Translate under the initial weights, make the report, and take its tables."""
        self.experiment.untuned_translations(runtime=runtime.here())()
        took = [times.recorded(row[0]) or Took(*row, 0.0) for row in self.outline()]
        collect_experiment(self.experiment, self.recipe, results, took, runtime=runtime)

    def finished(self) -> Experimental | None:
        """Return the experiment with the methods that are done; systems would be trained anew for it."""
        if "adapt" in self.asked:
            return None
        states: dict[str, list[bool]] = {}
        for (method, _), cell in self.experiment.cells().items():
            states.setdefault(method, []).append(cell.is_done)
        rows = [row for row in self.asked["method"] if all(states[row["name"]])]
        left = [row["name"] for row in self.asked["method"] if row not in rows]
        recipe = {**self.recipe, "plan": {**self.asked, "method": rows}, "quick": {}, "left": left}
        return Experimental(self.paper, recipe, self.materials) if len(rows) > 1 else None


class Measure(Work):
    """Commands that write tables: one step."""

    @cached_property
    def asked(self) -> Any:
        """The commands with their values, for the quick reproduction with those of `quick`."""
        quick = {key: value for key, value in self.recipe.get("quick", {}).items() if key != "names"}
        values = {**self.recipe.get("values", {}), **(quick if self.materials.quick else {})}
        return filled(self.recipe["commands"], {key: str(value) for key, value in values.items()})

    def steps(self) -> list[Step]:
        """Return one step."""
        ((name, kind, lines),) = self.outline()
        return [Step(name, kind, lines, (self.folder / _DONE).exists(), self._measure)]

    def outline(self) -> list[tuple[str, str, int]]:
        """Return one row."""
        return [(self.title, f"{self.name}{' quick' if self.materials.quick else ''}", 1)]

    def _measure(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with lock_folder(self.folder):
            out = self.folder / "out"
            if out.exists() and not self.recipe.get("resumes", False):
                shutil.rmtree(out)
            out.mkdir(exist_ok=True)
            for command in self.materials.resolved(self.asked):
                run_dragoman(command, {"out": str(out)})
            with open_output(self.folder / _DONE) as stream:
                stream.write(json.dumps(self.asked).encode())

    def collect(self, results: Path, times: Times, *, runtime: Runtime) -> None:
        """Take the files that the recipe keeps."""
        ((name, kind, lines),) = self.outline()
        took = times.recorded(name) or Took(name, kind, lines, 0.0)
        collect_measure(self.folder / "out", self.recipe, results, took)


def works(papers: list[Paper], materials: Materials) -> Iterator[Work]:
    """Yield the experiments and measures of papers; of the quick reproduction, those that recipes name for it."""
    for paper in papers:
        for kind, make in (("experiments", Experimental), ("measures", Measure)):
            for recipe in paper.recipes(kind):
                quick = recipe.get("quick", {})
                if not materials.quick or (quick and recipe["name"] in quick.get("names", [recipe["name"]])):
                    yield make(paper, recipe, materials)
