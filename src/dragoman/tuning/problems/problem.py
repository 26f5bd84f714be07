"""What an optimiser sees: candidate translations of each sentence, as features and as statistics of a metric."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.metrics.metric import Scorer

#: Methods that look along single weights, or sample boxes of weights, make no sense beyond so many features.
MOST_DENSE = 200


class Evidence(Protocol):
    """What all kinds of problems have: names and ranges of weights, and what is maximised."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""

    @property
    def ranges(self) -> NDArray[np.float64]:
        """For each feature the least and the largest weight for random starts."""

    def objective(self, weights: NDArray[np.float64]) -> float:
        """What is maximised: the metric of the best candidates, negated for error rates."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Candidates of S sentences: those of sentence `s` are rows `sentences[s]` to `sentences[s + 1]`.

    Row `h` has the features `features.row(h)` and the statistics `statistics[h]` of the metric behind `scorer`.
    Weights are vectors in the order of `features.names`. Under weights w the translation of a sentence is its candidate
    with the highest w · features, the first of them if several are equal, and what is optimised is the score of the
    sum of their statistics, times `sign`, which is -1 for error rates. `ranges` holds for each feature the least and
    the largest weight for random starts.
    """

    sentences: NDArray[np.int64]
    features: FeatureRows
    statistics: NDArray[np.float64]
    scorer: Scorer
    ranges: NDArray[np.float64]
    sign: int = 1

    def __post_init__(self) -> None:
        if len(self.sentences) < 2 or (np.diff(self.sentences) < 1).any():
            raise DataError("a sentence has no candidates", expected="at least one for each")
        if not np.isfinite(self.features.values).all():
            row = int(
                np.searchsorted(self.features.offsets, np.flatnonzero(~np.isfinite(self.features.values))[0], "right")
            )
            raise DataError(f"candidate {row} has a feature that is not a finite number")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.features.names

    @cached_property
    def dense(self) -> NDArray[np.float64]:
        """The features as a matrix, for methods that need one; refused if there are too many."""
        if len(self.names) > MOST_DENSE:
            raise UsageError(
                f"there are {len(self.names):,} features; this method takes at most {MOST_DENSE}"
                " (mira, pro and the risk methods take any number)"
            )
        return self.features.dense()

    def model_scores(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weighted sum of each candidate's features."""
        products = self.features.values * weights[self.features.ids]
        rows = np.repeat(np.arange(len(self.features)), np.diff(self.features.offsets))
        return np.bincount(rows, products, minlength=len(self.features)).astype(np.float64)

    def best(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """The candidate (row) that each sentence gets under some weights."""
        return best_rows(self.model_scores(weights), self.sentences)

    def objective(self, weights: NDArray[np.float64]) -> float:
        """What is maximised: the metric of the best candidates, negated for error rates."""
        return self.sign * float(self.scorer.score(self.statistics[self.best(weights)].sum(axis=0)))


def best_rows(scores: NDArray[np.float64], sentences: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first row with the highest score in each group."""
    highest = np.repeat(np.maximum.reduceat(scores, sentences[:-1]), np.diff(sentences))
    rows = np.flatnonzero(scores == highest)
    first = np.searchsorted(rows, sentences[:-1])
    return rows[first]


def checked_start(problem: Evidence, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """A copy of weights to start from, as kernels take it, after a look that there is a finite one for each name."""
    weights = np.array(start, np.float64)
    if weights.shape != (len(problem.names),):
        raise UsageError(f"there are {weights.size} weights to start from; expected {len(problem.names)}")
    if not np.isfinite(weights).all():
        raise UsageError("a weight to start from is not a finite number")
    return weights
