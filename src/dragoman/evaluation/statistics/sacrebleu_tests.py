"""SacreBLEU's confidence intervals and paired tests, with its random draws: the same seed gives the same figures.

They differ from ours (`significance`): the interval is the mean of the resamples ± half the distance between their
quantiles, and both tests are two-sided. The bootstrap test compares how far |difference| in the resamples lies above
its mean with the observed |difference|. SacreBLEU resamples statistics in single precision, we in double, so that means
may differ in the seventh digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.metric import Scorer

Vector = NDArray[np.float64]

#: Cells of a matrix of draws in memory; rows are a multiple of 32, the random bits that are drawn together.
_CELLS, _ROWS = 1 << 22, 32

#: Differences of scores that are smaller than this are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class TestedScore:
    """A score, with the mean and half the interval of its resamples, and its p-value against the baseline, if any."""

    score: float
    p_value: float | None = None
    mean: float | None = None
    half_interval: float | None = None


def resampled_scores(scorer: Scorer, statistics: Vector, *, resamples: int, seed: int | None) -> Vector:
    """Score resamples of the sentences."""
    found: Vector = _resampled(scorer, [statistics], resamples, seed)[0]
    return found


def half_interval(scores: Vector) -> float:
    """Return half the distance between the 2.5 % and the 97.5 % quantile.

    >>> half_interval(np.arange(41.0))
    19.0
    """
    cut = len(scores) // 40
    ordered = np.sort(scores)
    return float(0.5 * (ordered[len(scores) - cut - 1] - ordered[cut]))


def paired_bootstrap_tests(
    scorer: Scorer, systems: list[Vector], *, resamples: int, seed: int | None
) -> list[TestedScore]:
    """Compare systems with the first one by the paired bootstrap."""
    resampled = _resampled(scorer, systems, resamples, seed)
    scores = [float(scorer.score(statistics.sum(axis=0))) for statistics in systems]
    found = []
    for i, (score, drawn) in enumerate(zip(scores, resampled, strict=True)):
        differences = np.abs(drawn - resampled[0])
        centred = differences - differences.mean()
        p_value = _p_value(centred, abs(score - scores[0])) if i else None
        found.append(TestedScore(score, p_value, float(drawn.mean()), half_interval(drawn)))
    return found


def paired_randomisation_tests(
    scorer: Scorer, systems: list[Vector], *, trials: int, seed: int | None
) -> list[TestedScore]:
    """Compare systems with the first one by approximate randomisation."""
    first, *others = systems
    baseline = float(scorer.score(first.sum(axis=0)))
    scores = [float(scorer.score(statistics.sum(axis=0))) for statistics in others]
    total = [first.sum(axis=0) + statistics.sum(axis=0) for statistics in others]
    differences: list[list[Vector]] = [[] for _ in others]
    rng = np.random.default_rng(seed)
    for count in _chunks(trials, len(first)):
        kept = rng.integers(2, size=(count, len(first)), dtype=bool).astype(np.float64)
        for found, statistics, both in zip(differences, others, total, strict=True):
            shuffled = kept @ (first - statistics) + statistics.sum(axis=0)
            found.append(np.abs(scorer.score(shuffled) - scorer.score(both - shuffled)))
    tested = [
        TestedScore(score, _p_value(np.concatenate(found), abs(baseline - score)))
        for score, found in zip(scores, differences, strict=True)
    ]
    return [TestedScore(baseline), *tested]


def _resampled(scorer: Scorer, systems: list[Vector], resamples: int, seed: int | None) -> Vector:
    """Score systems (rows) on the same resamples (columns)."""
    rng, sentences = np.random.default_rng(seed), len(systems[0])
    parts = []
    for count in _chunks(resamples, sentences):
        drawn = rng.choice(sentences, size=(count, sentences), replace=True) + np.arange(count)[:, None] * sentences
        counts = np.bincount(drawn.ravel(), minlength=count * sentences).reshape(count, sentences).astype(np.float64)
        parts.append(np.stack([scorer.score(counts @ statistics) for statistics in systems]))
    return np.concatenate(parts, axis=1)


def _chunks(rows: int, columns: int) -> Iterator[int]:
    most = max(1, _CELLS // max(1, columns) // _ROWS) * _ROWS
    for begin in range(0, rows, most):
        yield min(most, rows - begin)


def _p_value(differences: Vector, observed: float) -> float:
    larger = int(np.sum(differences > observed + _ROUNDING * max(1.0, observed)))
    return (larger + 1) / (len(differences) + 1)
