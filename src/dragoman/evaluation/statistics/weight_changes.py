"""Differences between two sets of weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dragoman.tuning.problems.problem import tuned_names


@dataclass(frozen=True)
class Change:
    """A weight before and after; None where it is missing, which counts as 0."""

    name: str
    before: float | None
    after: float | None

    @property
    def difference(self) -> float:
        """The increase."""
        return (self.after or 0.0) - (self.before or 0.0)

    @property
    def relative(self) -> float:
        """The difference relative to the larger of the two: at least 1 if one is missing, 0, or of the other sign."""
        size = max(abs(self.before or 0.0), abs(self.after or 0.0))
        return abs(self.difference) / size if size else 0.0


@dataclass(frozen=True)
class WeightComparison:
    """The weights that differ, largest difference first, and the cosine of the two sets as vectors.

    Weights that are never tuned, which can be by far the largest, do not count for the cosine.
    """

    changes: tuple[Change, ...]
    cosine: float
    only_before: int
    only_after: int
    same: int


def compare_weights(before: Mapping[str, float], after: Mapping[str, float]) -> WeightComparison:
    """Compare two sets of weights by name.

    >>> found = compare_weights({"lm": 1.0, "tm": 1.0}, {"lm": 1.0, "pb.NN:VB": -1.0})
    >>> [(change.name, change.difference) for change in found.changes], round(found.cosine, 6)
    ([('pb.NN:VB', -1.0), ('tm', -1.0)], 0.5)
    """
    names = sorted(before.keys() | after.keys())
    every = [Change(name, before.get(name), after.get(name)) for name in names]
    changed = [change for change in every if change.difference or None in (change.before, change.after)]
    ours, theirs = _tuned(before), _tuned(after)
    product = math.fsum(value * theirs.get(name, 0.0) for name, value in ours.items())
    return WeightComparison(
        changes=tuple(sorted(changed, key=lambda change: (-abs(change.difference), change.name))),
        cosine=_quotient(product, _norm(ours) * _norm(theirs)),
        only_before=sum(change.after is None for change in every),
        only_after=sum(change.before is None for change in every),
        same=len(every) - len(changed),
    )


def scale_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights, scaled so that the absolute values of the tuned ones sum to 1.

    Translations do not depend on the scale, except for unknown words.
    """
    tuned = _tuned(weights)
    total = math.fsum(map(abs, tuned.values()))
    return {name: _quotient(value, total) if name in tuned else value for name, value in weights.items()}


def _tuned(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: weights[name] for name in tuned_names(list(weights))}


def _norm(weights: Mapping[str, float]) -> float:
    return math.sqrt(math.fsum(value * value for value in weights.values()))


def _quotient(a: float, b: float) -> float:
    return a / b if b else 0.0
