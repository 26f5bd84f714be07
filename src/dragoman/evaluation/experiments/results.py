"""What an experiment found, read from its folder and from nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.weights import Weights
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.plan import Method, TestSet
from dragoman.evaluation.experiments.plan_decisions import PlannedDecision
from dragoman.evaluation.experiments.scale_choice import ChosenScale
from dragoman.evaluation.experiments.translations import FINAL, translations_folder
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.metric import Metric, Scorer
from dragoman.metrics.references import read_references
from dragoman.model.bundle import Model
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import MOST_DENSE, Problem
from dragoman.tuning.runs.run import Run

UNTUNED = "untuned"

Vector = NDArray[np.float64]

#: What each line of `events.jsonl` may say of the loop; other numbers are a method's own.
_OF_THE_LOOP = frozenset({"iteration", "score", "candidates", "new", "objective", "stop", "seconds"})


@dataclass(frozen=True)
class System:
    """What is compared: a method, or the weights that all begin with, and the rule by which they translate."""

    method: Method | None
    decision: PlannedDecision

    @property
    def method_name(self) -> str:
        """The method, as tables show it."""
        return UNTUNED if self.method is None else self.method.name

    @property
    def name(self) -> str:
        """Method and decision, if the plan has decisions."""
        return " / ".join(filter(None, (self.method_name, self.decision.name)))


@dataclass(frozen=True, eq=False)
class Measured:
    """All systems on one test set under one metric: statistics with axes run, sentence and column."""

    metric: Metric
    scorer: Scorer
    systems: dict[System, NDArray[np.float64]]

    def scores(self, system: System) -> Vector:
        """The score of each run of a system."""
        return np.asarray(self.scorer.score(self.systems[system].sum(axis=1)))


class Results:
    """The runs of an experiment that has been carried out."""

    def __init__(self, experiment: Experiment, *, threads: int = 1):
        self.experiment = experiment
        self.plan = experiment.plan
        self._threads = threads

    def run(self, method: Method, seed: int) -> Run:
        """The run of a method with some seed."""
        return Run(self.experiment.folder(method, seed))

    def runs(self, method: Method) -> list[Run]:
        """All runs of a method."""
        return [self.run(method, seed) for seed in self.plan.seeds]

    @property
    def systems(self) -> list[System]:
        """All that is compared: the untuned weights, then each method, by all decisions."""
        return [System(method, decision) for method in (None, *self.plan.methods) for decision in self.plan.decisions]

    def _folders(self, system: System) -> list[Path]:
        return [self.experiment.untuned] if system.method is None else [run.folder for run in self.runs(system.method)]

    def scales(self, system: System) -> list[ChosenScale]:
        """The scale that was chosen for each run of a system, if its decision has scales to choose from."""
        return [ChosenScale.read(f, system.decision) for f in self._folders(system)] if system.decision.scales else []

    @cached_property
    def sign(self) -> int:
        """1, or -1 if lower is better."""
        return 1 if parse_metric(self.plan.metrics[0]).higher_is_better else -1

    def tuning_scores(self, method: Method) -> Vector:
        """The best score on the tuning set of each run."""
        return np.array(
            [self.sign * max(self.sign * event["score"] for event in run.events()) for run in self.runs(method)]
        )

    def seconds(self, method: Method) -> Vector:
        """How long each run took."""
        return np.array([sum(_seconds(event) for event in run.events()) for run in self.runs(method)])

    def iterations(self, method: Method) -> NDArray[np.int64]:
        """How many iterations each run had."""
        return np.array([len(run.events()) for run in self.runs(method)])

    def measured(self, test: TestSet, metric: str) -> Measured:
        """All systems on a test set, the untuned one first."""
        chosen = parse_metric(metric)
        scorer = chosen.scorer(read_references(test.references))
        return Measured(
            chosen,
            scorer,
            {
                system: np.stack(
                    [self._statistics(f, test, system.decision, FINAL, scorer) for f in self._folders(system)]
                )
                for system in self.systems
            },
        )

    def curve(self, method: Method, test: TestSet) -> Vector:
        """The score under the weights before each iteration: a row a run; a run that has ended stays where it is.

        Translations are those of the first decision.
        """
        scorer = parse_metric(self.plan.metrics[0]).scorer(read_references(test.references))
        rows = []
        for run in self.runs(method):
            names = [f"{i:03}.txt" for i in range(len(run.events()))]
            first = self.plan.decisions[0]
            parts = [self._statistics(run.folder, test, first, name, scorer) for name in names]
            rows.append(scorer.score(np.array([part.sum(axis=0) for part in parts])))
        return aligned(rows)

    def tuning_curve(self, method: Method) -> Vector:
        """The same on the tuning set."""
        return aligned([[event["score"] for event in run.events()] for run in self.runs(method)])

    def numbers(self, method: Method, key: str) -> list[Vector]:
        """What iterations say under some key, run by run: a row of iteration and number for each that has one."""
        found = [
            [(e["iteration"], e[key]) for e in run.events() if _is_number(e.get(key))] for run in self.runs(method)
        ]
        return [np.array(rows, np.float64).reshape(-1, 2) for rows in found]

    def own_numbers(self, method: Method) -> list[str]:
        """The keys of numbers that a method says of its iterations beside what the loop does, in their order."""
        events = [event for run in self.runs(method) for event in run.events()]
        keys = [key for event in events for key, value in event.items() if _is_number(value)]
        return [key for key in dict.fromkeys(keys) if key not in _OF_THE_LOOP]

    @cached_property
    def _model(self) -> Model:
        return Model.load(self.plan.job.model)

    @property
    def tuned_names(self) -> list[str]:
        """The dense features whose weights were chosen."""
        return self.plan.job.tuned(self._model)

    @property
    def dense(self) -> bool:
        """Whether all features are dense, so that pictures can show each of them."""
        return not self._model.sparse_prefixes and len(self.tuned_names) <= MOST_DENSE

    def weights(self, method: Method) -> Vector:
        """The weights that each run ended with, scaled so that their absolute values sum to 1."""
        return np.array([self.scaled(run.weights()) for run in self.runs(method)])

    def scaled(self, weights: Weights) -> Vector:
        """The tuned weights as a vector whose absolute values sum to 1."""
        vector = weights.vector(self.tuned_names)
        return vector / max(float(np.abs(vector).sum()), 1e-300)

    def best_run(self, method: Method) -> Run:
        """The run with the best score on the tuning set."""
        return self.runs(method)[int(np.argmax(self.sign * self.tuning_scores(method)))]

    def has_evidence(self, run: Run) -> bool:
        """Whether a run kept what it decoded; methods that learn sentence by sentence do not."""
        return all(run.evidence(event["iteration"]).exists() for event in run.events())

    def problem(self, method: Method, run: Run) -> Problem | HypergraphProblem:
        """What the optimiser saw last."""
        job = replace(self.plan.job, tuner=method.tuner)
        return job.problem(self._model, run, threads=self._threads)

    def _statistics(
        self, folder: Path, test: TestSet, decision: PlannedDecision, name: str, scorer: Scorer
    ) -> NDArray[np.float64]:
        file = translations_folder(folder, test, decision) / name
        if not file.exists():
            raise DataError("is missing", path=file, expected="what `dragoman experiment` writes; run it again")
        return scorer.statistics(Corpus.read(file), threads=self._threads)


def _seconds(event: Mapping[str, Any]) -> float:
    """How long an iteration took: one number, or one for each of its parts."""
    found = event.get("seconds", 0.0)
    return float(sum(found.values()) if isinstance(found, dict) else found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def aligned(rows: Sequence[Sequence[float] | Vector]) -> Vector:
    """Rows of unequal length as a matrix: the last value of a short one is repeated.

    >>> aligned([[1.0], [2.0, 3.0]]).tolist()
    [[1.0, 1.0], [2.0, 3.0]]
    """
    longest = max(map(len, rows))
    return np.array([[*row, *[row[-1]] * (longest - len(row))] for row in rows])
