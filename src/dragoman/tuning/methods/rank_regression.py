"""Rank regression: linear regression of the rank of candidates on their features (Schuth 2010)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import Optimum, Tuner
from dragoman.tuning.methods.svm_rank import pseudo_document_gains
from dragoman.tuning.problems.problem import MOST_DENSE, Problem

#: Principal components with less than this share of the largest variance are rounding errors.
_SMALLEST = 1e-10


@dataclass(frozen=True)
class RankRegression(Tuner):
    """Rank regression: A. Schuth, Tuning Methods in Statistical Machine Translation (2010), section 6.2.1.

    Sorts the candidates of each sentence by their score within a pseudo-document, and sets the weights to those whose
    model scores predict the ranks best, by least squares over all candidates:

        argmin over w of Σ_s 1/n_s Σ_i (y_si - a_s - w·h_si)²

    for n_s candidates of sentence s, of which the best has y = 1 and the worst y = 0; equal scores have the mean of
    their ranks. With `target = score`, y is the score itself. The objective is R², the proportion of the variance
    within sentences that is explained. With `components`, the regression is on the first principal components of the
    standardised features (Hawkins 1973), which the thesis suggests where features are many or depend on each other.

    Cost: one product of the features with themselves, linear in candidates and quadratic in features, of which there
    may be 200. The weights before matter only through the pseudo-document.

    Departures: the thesis describes the method in two paragraphs and did not run it, so that most of this is ours. Each
    sentence has an intercept a_s of its own, because levels of features differ more between sentences than within, and
    only ranks within matter; all sentences have the same influence, whatever the length of their lists.
    """

    name: ClassVar[str] = "rank-regression"
    most_features: ClassVar[int | None] = MOST_DENSE

    target: Literal["rank", "score"] = option("rank", "predict ranks, or scores within the pseudo-document")
    components: int | None = option(
        None, "principal components of the features to regress on; default: all, which is plain regression", minimum=1
    )
    decay: float = option(0.9, "factor by which the pseudo-document decays after each sentence", minimum=0, maximum=1)

    def improve(
        self, problem: Problem, start: NDArray[np.float64], rng: np.random.Generator, runtime: Runtime
    ) -> Optimum:
        """Rank the candidates, and regress the ranks on the features."""
        gains = pseudo_document_gains(problem, start, self.decay)
        wanted = list_ranks(problem.sentences, gains) if self.target == "rank" else gains
        sizes = np.diff(problem.sentences)
        roots = np.sqrt(np.repeat(1 / sizes, sizes))
        y = roots * _centred(wanted[:, None], problem.sentences)[:, 0]
        if not y.any():
            runtime.warn("all candidates of each sentence have the same score: weights stay as they are")
            return Optimum(start, 0.0)
        x = roots[:, None] * _centred(problem.dense, problem.sentences)
        with runtime.stage("regressing ranks"):
            weights = regress(x, y, self.components)
        residual = y - x @ weights
        return Optimum(weights, 1 - float(residual @ residual) / float(y @ y))


def list_ranks(sentences: NDArray[np.int64], gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each candidate in its sentence, from 0 for the worst to 1 for the best; 0.5 if all are equal.

    >>> list_ranks(np.array([0, 3, 4]), np.array([5.0, 1.0, 5.0, 7.0])).tolist()
    [0.75, 0.0, 0.75, 0.5]
    """
    sizes = np.diff(sentences)
    sentence = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((gains, sentence))
    places = np.arange(len(gains), dtype=np.float64) - np.repeat(sentences[:-1], sizes)
    # Equal gains, which follow each other, share the mean of their places.
    begins = np.flatnonzero(np.append(True, (np.diff(gains[order]) != 0) | (np.diff(sentence) != 0)))
    lengths = np.diff(np.append(begins, len(gains)))
    ranks = np.empty(len(gains))
    ranks[order] = np.repeat(np.add.reduceat(places, begins) / lengths, lengths)
    longest = np.repeat(sizes - 1, sizes)
    return np.where(longest > 0, ranks / np.maximum(longest, 1), 0.5)


def regress(x: NDArray[np.float64], y: NDArray[np.float64], components: int | None = None) -> NDArray[np.float64]:
    """Return the weights w that minimise |y - x·w|², within the first principal components of standardised columns.

    Of several solutions, the one with the least sum of squares in standardised units.

    >>> regress(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]), np.array([3.0, 2.0, 5.0])).round(6).tolist()
    [3.0, 1.0]
    """
    from threadpoolctl import threadpool_limits

    deviations = np.sqrt((x * x).sum(axis=0))
    units = np.where(deviations > 0, 1 / np.where(deviations > 0, deviations, 1.0), 0.0)
    # One thread, because sums of several depend on how many there are.
    with threadpool_limits(1):
        scaled = x * units
        variances, axes = np.linalg.eigh(scaled.T @ scaled)
        largest = variances[::-1][: len(variances) if components is None else components]
        kept = axes[:, ::-1][:, : len(largest)][:, largest > _SMALLEST * max(float(variances[-1]), 1e-300)]
        along = kept.T @ (scaled.T @ y) / largest[: kept.shape[1]]
        return np.asarray(units * (kept @ along))


def _centred(values: NDArray[np.float64], sentences: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return values less the mean of their sentence."""
    sizes = np.diff(sentences)
    means = np.add.reduceat(values, sentences[:-1], axis=0) / sizes[:, None]
    return np.asarray(values - np.repeat(means, sizes, axis=0))
