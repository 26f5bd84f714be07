"""Averages of weights over the steps of an online learner, and over any stretch between marks on its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.weights import Weights


class _Mark(NamedTuple):
    """After so many steps: the weights, and from what their sum over the steps follows (see `StepAverages`)."""

    steps: int
    weights: Weights
    drift: Mapping[str, float]

    def total(self, names: Sequence[str]) -> NDArray[np.float64]:
        drift = np.array([self.drift.get(name, 0.0) for name in names])
        return np.asarray(self.steps * self.weights.vector(names) - drift)


class StepAverages:
    """The weights of a learner, and what they were on average over its steps, with marks at the ends of equal parts.

    `drift` has for each weight the sum of its changes, each times the steps before it: the sum of the weights after
    each of n steps is n times the last ones less their drift, so that a step costs as much as it changes. `steps` are
    those that are expected; if there are more, they belong to the last part.

    >>> averages = StepAverages(Weights({"lm": 1.0}), steps=2, parts=2)
    >>> averages.step({"lm": 2.0})
    >>> averages.step({"lm": 5.0})
    >>> averages.mean(["lm"]).tolist(), averages.mean(["lm"], 1, 2).tolist()
    ([3.5], [5.0])
    """

    def __init__(self, weights: Weights, steps: int, parts: int = 1):
        self.weights, self.parts = weights, parts
        self._steps, self._drift = 0, dict[str, float]()
        self._ends = [part * steps // parts for part in range(parts)]
        self._marks = {0: _Mark(0, weights, {})}

    def step(self, changed: Mapping[str, float]) -> None:
        """Do a step to weights of which these are new."""
        for name, value in changed.items():
            self._drift[name] = self._drift.get(name, 0.0) + self._steps * (value - self.weights.get(name, 0.0))
        self.weights = self.weights.updated(changed)
        self._steps += 1
        if self._steps in self._ends:
            self._marks[self._steps] = _Mark(self._steps, self.weights, dict(self._drift))

    def moves_within(self, begin: int, end: int) -> bool:
        """Whether there are steps from the beginning of one part to that of another, or to the end."""
        return self._mark(end).steps > self._mark(begin).steps

    def mean(self, names: Sequence[str], begin: int = 0, end: int | None = None) -> NDArray[np.float64]:
        """The average over all steps, or over those of the parts from `begin` to before `end`."""
        first, last = self._mark(begin), self._mark(self.parts if end is None else end)
        steps = last.steps - first.steps
        if not steps:
            return last.weights.vector(names)
        return (last.total(names) - first.total(names)) / steps

    def _mark(self, part: int) -> _Mark:
        if part == self.parts:
            return _Mark(self._steps, self.weights, self._drift)
        return self._marks[self._ends[part]]
