"""Candidates whose scores are mixtures of tables: the shares of the tables are tuned with the weights (Haddow 2013).

A score of a candidate is Σ n log Σ_t λ_t p_t over its phrase pairs, of which there are n each: no linear function of
the shares λ, but a smooth one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.model.log_scores import LOG_ZERO
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.problems.ranges import is_weight

Vector = NDArray[np.float64]

_SMALLEST = float(np.exp(LOG_ZERO))


@dataclass(frozen=True, eq=False)
class MixedScores:
    """The scores of one mixed table, for rows that count its pairs: candidates, or differences of two.

    `counts` is a sparse matrix (scipy CSR) of rows by pairs. `probabilities[s, t]` are the scores `s` of the pairs in
    component `t`. Vectors of weights have the weight of score `s` at `columns[s]`, and the share of `t` in it at
    `share_columns[s, t]`; -1 is for what is not tuned: such a score is left out, such a share stays at `shares[s, t]`.
    """

    counts: Any
    probabilities: NDArray[np.float64]
    columns: NDArray[np.int64]
    share_columns: NDArray[np.int64]
    shares: NDArray[np.float64]

    def between(self, better: NDArray[np.int64], worse: NDArray[np.int64]) -> MixedScores:
        """Return the same for the differences of two candidates each; pairs that make none are left out."""
        counts = self.counts[better] - self.counts[worse]
        counts.eliminate_zeros()
        used, counts.indices = np.unique(counts.indices, return_inverse=True)
        counts = type(counts)((counts.data, counts.indices, counts.indptr), shape=(counts.shape[0], len(used)))
        return replace(self, counts=counts, probabilities=np.ascontiguousarray(self.probabilities[:, :, used]))

    def shares_in(self, vector: Vector) -> NDArray[np.float64]:
        """The shares that a vector of weights has, a row for each score."""
        return np.where(self.share_columns >= 0, vector[self.share_columns], self.shares)

    def weights_in(self, vector: Vector) -> Vector:
        """The weights of the scores, 0 for those that are left out."""
        return np.where(self.columns >= 0, vector[self.columns], 0.0)

    def mixed(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mixture's probability of each pair, a row for each score."""
        mixture: NDArray[np.float64] = np.einsum("stp,st->sp", self.probabilities, shares)
        return mixture

    def values(self, mixture: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of the rows, a column each, for a mixture."""
        scores: NDArray[np.float64] = self.counts @ np.ascontiguousarray(np.log(np.maximum(mixture, _SMALLEST)).T)
        return scores

    def share_slopes(self, mixture: NDArray[np.float64], of_rows: Vector) -> NDArray[np.float64]:
        """How each score, summed over rows with factors `of_rows`, changes with each share: a row for each score."""
        of_pairs = self.counts.T @ of_rows
        # What is too small for its logarithm to matter does not change.
        inverse = np.where(mixture > _SMALLEST, of_pairs / np.maximum(mixture, _SMALLEST), 0.0)
        slopes: NDArray[np.float64] = np.einsum("stp,sp->st", self.probabilities, inverse)
        return slopes


@dataclass(frozen=True, eq=False)
class MixtureProblem(Problem):
    """A problem in which some scores are mixed; `features` are the others."""

    mixtures: tuple[MixedScores, ...] = ()

    @property
    def shares(self) -> NDArray[np.bool_]:
        """Which of the weights are shares."""
        return ~is_weight(self.names)

    def model_scores(self, weights: Vector) -> Vector:
        """The weighted sum of each candidate's features, mixed by the shares among the weights."""
        scores = super().model_scores(weights)
        for one in self.mixtures:
            scores = scores + one.values(one.mixed(one.shares_in(weights))) @ one.weights_in(weights)
        return scores


@dataclass(frozen=True, eq=False)
class MixedRows:
    """The model's scores of rows, candidates or differences of two, as functions of weights and shares.

    `features` is a sparse matrix (scipy CSR) of rows by weights, which has nothing in the columns of `mixtures`.
    """

    features: Any
    mixtures: Sequence[MixedScores]

    def scored(self, vector: Vector) -> tuple[Vector, Callable[[Vector], Vector]]:
        """Return the scores, and what makes slopes by them a gradient by weights, and by shares as if free."""
        scores: Vector = self.features @ vector
        mixed = []
        for one in self.mixtures:
            mixture = one.mixed(one.shares_in(vector))
            values, weights = one.values(mixture), one.weights_in(vector)
            scores = scores + values @ weights
            mixed.append((one, mixture, values, weights))

        def gradient_of(slopes: Vector) -> Vector:
            gradient: Vector = self.features.T @ slopes
            for one, mixture, values, weights in mixed:
                there, free = one.columns >= 0, one.share_columns >= 0
                gradient[one.columns[there]] += (values.T @ slopes)[there]
                if free.any():
                    by_shares = weights[:, None] * one.share_slopes(mixture, slopes)
                    gradient[one.share_columns[free]] += by_shares[free]
            return gradient

        return scores, gradient_of


def share_groups(mixtures: Sequence[MixedScores]) -> list[NDArray[np.int64]]:
    """Where the shares that sum to 1 are among the weights, if they are."""
    return [row for one in mixtures for row in one.share_columns if (row >= 0).all()]
