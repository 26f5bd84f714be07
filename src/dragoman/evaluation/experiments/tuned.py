"""How the runs of an experiment went, as their events tell it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.plan import Method
from dragoman.metrics.combined import parse_metric
from dragoman.tuning.runs.run import Run

Vector = NDArray[np.float64]

#: What each line of `events.jsonl` may say of the loop; other numbers are a method's own.
_OF_THE_LOOP = frozenset({"iteration", "step", "score", "candidates", "new", "objective", "stop", "seconds"})


class Tuned:
    """The runs of an experiment that has been carried out, or is."""

    def __init__(self, experiment: Experiment):
        self._experiment = experiment
        self._plan = experiment.plan

    def run(self, method: Method, seed: int) -> Run:
        """The run of a method with some seed."""
        return Run(self._experiment.folder(method, seed))

    def runs(self, method: Method) -> list[Run]:
        """All runs of a method."""
        return [self.run(method, seed) for seed in self._plan.seeds]

    @cached_property
    def sign(self) -> int:
        """1, or -1 if lower is better."""
        return 1 if parse_metric(self._plan.metrics[0]).higher_is_better else -1

    def scores(self, method: Method) -> Vector:
        """The best score on the tuning set of each run."""
        return np.array(
            [self.sign * max(self.sign * event["score"] for event in run.events()) for run in self.runs(method)]
        )

    def unchanged(self, method: Method) -> NDArray[np.bool_]:
        """Which runs ended with the weights they began with, because they found nothing better."""
        return np.array([run.weights() == run.weights(0) for run in self.runs(method)], bool)

    def best_run(self, method: Method) -> Run:
        """The run with the best score on the tuning set."""
        return self.runs(method)[int(np.argmax(self.sign * self.scores(method)))]

    def seconds(self, method: Method) -> Vector:
        """How long each run took."""
        return np.array([sum(record.total_seconds for record in run.records()) for run in self.runs(method)])

    def iterations(self, method: Method) -> NDArray[np.int64]:
        """How many iterations each run had."""
        return np.array([len(run.events()) for run in self.runs(method)])

    def curve(self, method: Method) -> Vector:
        """The score on the tuning set before each iteration: a row a run; one that has ended stays where it is."""
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


def aligned(rows: Sequence[Sequence[float] | Vector]) -> Vector:
    """Rows of unequal length as a matrix: the last value of a short one is repeated.

    >>> aligned([[1.0], [2.0, 3.0]]).tolist()
    [[1.0, 1.0], [2.0, 3.0]]
    """
    longest = max(map(len, rows))
    return np.array([[*row, *[row[-1]] * (longest - len(row))] for row in rows])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
