"""Features with fixed weights, as one column that methods see beside the features whose weights they tune.

Only the direction of weights decides what is translated. Methods may scale the column like any weight, and the weights
that they propose are divided by that scale afterwards: fixed weights keep their values, and their ratio to each other
in every comparison of candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.tuning.problems.problem import FIXED, Ranges, is_interpolation_weight, is_weight

Vector = NDArray[np.float64]

#: The name of the column; features have no brackets in their names.
FIXED_SCORE = "(fixed)"

#: Part of the column's weight that remains after a step towards weights that would reverse it.
_REST = 0.5


def fixed_weights(weights: Weights, tuned: Sequence[str]) -> Weights:
    """Return the weights that are not tuned, but for 0, those of mixtures, and features that change no comparison."""
    free = {*tuned, *FIXED}
    return Weights(
        {
            name: value
            for name, value in weights.items()
            if value and name not in free and not is_interpolation_weight(name)
        }
    )


@dataclass(frozen=True, eq=False)
class FixedScore:
    """The column Σ weight · feature over features with fixed weights, in units of the largest of these weights.

    Vectors of weights have the column's weight, which is `size` to begin with, at their end; without fixed features
    there is no column.
    """

    weights: Weights = field(default_factory=Weights)

    @property
    def names(self) -> list[str]:
        """The name of the column, if there is one."""
        return [FIXED_SCORE] if self.weights else []

    @property
    def ranges(self) -> Ranges:
        """The range of the column's weight in random starts."""
        return dict.fromkeys(self.names, (0.0, 1.0))

    @property
    def size(self) -> float:
        """The largest of the fixed weights."""
        return max(map(abs, self.weights.values()), default=1.0)

    def begin(self, weights: Weights, names: Sequence[str]) -> Vector:
        """Return the weights of some names as a vector, with the column's."""
        return np.append(weights.vector(names), [self.size] * len(self.names))

    def features(self, features: FeatureRows, tuned: Sequence[str], more: Vector | float = 0.0) -> FeatureRows:
        """Return the tuned features, and the column; `more` is added to the scores in it."""
        own = features.restricted(tuned)
        if not self.weights:
            return own
        column = (features.dot(self.weights) + more) / self.size
        return FeatureRows.join([own, FeatureRows.of_columns({FIXED_SCORE: column}, len(features))])

    def within(self, begin: Vector, proposal: Vector, names: Sequence[str]) -> Vector:
        """Return a proposal, or the part of the way to it that leaves half of the column's weight.

        Proposals with a negative weight of the column, or none, would reverse or drop what is fixed.
        """
        if not self.weights or proposal[-1] > 0:
            return proposal
        weighed = is_weight([*names, *self.names])
        here, there = (
            np.where(weighed, one / max(float(np.abs(one[weighed]).sum()), 1e-300), one) for one in (begin, proposal)
        )
        part = (1 - _REST) * here[-1] / (here[-1] - there[-1])
        return np.asarray(here + part * (there - here))

    def restored(self, vector: Vector, names: Sequence[str]) -> Vector:
        """Return the tuned weights in the scale in which fixed weights have their values."""
        if not self.weights:
            return vector
        return np.where(is_weight(names), vector[:-1] * (self.size / vector[-1]), vector[:-1])
