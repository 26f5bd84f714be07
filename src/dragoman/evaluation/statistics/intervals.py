"""Means, deviations and confidence intervals of scores, and limits of the axes of their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.significance import bootstrap_scores, confidence_interval
from dragoman.metrics.metric import Metric, Scorer

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Band:
    """The mean of runs at each place, and a band around it."""

    mean: Vector
    low: Vector
    high: Vector


def deviation_band(runs: Vector) -> Band:
    """Return the mean of rows ± 1 standard deviation; a single row has no deviation.

    >>> band = deviation_band(np.array([[1.0, 2.0], [3.0, 2.0]]))
    >>> band.mean.tolist(), band.low.round(2).tolist()
    ([2.0, 2.0], [0.59, 2.0])
    """
    mean = runs.mean(axis=0)
    deviation = runs.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros_like(mean)
    return Band(mean, mean - deviation, mean + deviation)


def range_band(runs: Vector) -> Band:
    """Return the mean of rows, with a band from the smallest to the largest."""
    return Band(runs.mean(axis=0), runs.min(axis=0), runs.max(axis=0))


def mean_sd(values: NDArray[np.generic] | None, digits: int = 2) -> str:
    """Format the mean, and ± the standard deviation if there is more than one number.

    >>> mean_sd(np.array([1.0, 2.0, 3.0])).replace("\\N{NO-BREAK SPACE}", " ")
    '2.00 ± 1.00'
    """
    if values is None:
        return ""
    numbers = np.asarray(values, np.float64)
    mean = f"{numbers.mean():.{digits}f}"
    return f"{mean}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{numbers.std(ddof=1):.{digits}f}" if len(numbers) > 1 else mean


def geometric_mean(values: Sequence[float]) -> str:
    """Format the geometric mean, and the smallest and largest number where they differ.

    >>> geometric_mean([1.0, 4.0])
    '2 (1 to 4)'
    """
    if not values:
        return ""
    mean = f"{np.exp(np.log(values).mean()):.3g}"
    return mean if min(values) == max(values) else f"{mean} ({min(values):g} to {max(values):g})"


def mean_of_beginnings(rows: Sequence[Sequence[float]], most: int) -> NDArray[np.float64]:
    """Return the mean of rows at each place that all of them have, for at most `most` places.

    >>> mean_of_beginnings([[1.0, 2.0, 3.0], [3.0, 4.0]], 50).tolist()
    [2.0, 3.0]
    """
    places = min(most, *map(len, rows))
    mean: NDArray[np.float64] = np.array([row[:places] for row in rows], np.float64).mean(axis=0)
    return mean


@dataclass(frozen=True, eq=False)
class SystemScore:
    """One system's statistics under one metric.

    `label` is the metric as the user wrote it, `note` tells which options were chosen for it.
    """

    system: str
    label: str
    metric: Metric
    scorer: Scorer
    statistics: NDArray[np.float64]
    note: str | None = None

    @property
    def score(self) -> float:
        """Return the score of the whole text."""
        return float(self.scorer.score(self.statistics.sum(axis=0)))

    def summary(self, references: int, resamples: int, seed: int, *, prepared: bool = False) -> dict[str, object]:
        """Return the score, its interval, and its signature."""
        result: dict[str, object] = {
            "system": self.system,
            "metric": self.label,
            "score": self.score,
            **self.scorer.details(self.statistics.sum(axis=0)),
        }
        if resamples and len(self.statistics):
            resampled = bootstrap_scores(self.scorer, [self.statistics], resamples=resamples, seed=seed)
            result["interval"] = list(confidence_interval(resampled[0]))
        signature = full_signature(self.metric, references, resamples, seed, prepared=prepared)
        return {**result, "signature": signature} | ({} if self.note is None else {"note": self.note})


def full_signature(
    metric: Metric, references: int | None, resamples: int = 0, seed: int = 0, *, prepared: bool = False
) -> str:
    """Return a metric's signature with the number of references, the kind of text and the resampling in it.

    Text is `prepared` if both sides are in the words of a model; otherwise the signature does not mention it.
    """
    name, _, rest = metric.signature().partition("|")
    known = "" if references is None else f"|nrefs:{references}"
    resampled = f"|bs:{resamples}|seed:{seed}" if resamples else ""
    return f"{name}{known}{'|text:prepared' if prepared else ''}|{rest}{resampled}"


def measure(
    metric: Metric,
    label: str,
    references: Sequence[Corpus],
    system: str,
    hypotheses: Corpus,
    *,
    note: str | None = None,
    runtime: Runtime = Runtime(),
) -> SystemScore:
    """Compute the statistics of one system's translations."""
    chosen = metric.for_system(system)
    scorer = chosen.scorer(references)
    return SystemScore(system, label, chosen, scorer, scorer.statistics(hypotheses, runtime=runtime), note)


Limits = tuple[float, float]

_FAR = 6  # in median distances from the median, or median losses
_LARGEST_SHARE = 0.1  # proportion of the scores of runs that may lie beyond the edge


def limits_of_systems(systems: Sequence[Band]) -> Limits:
    """Return limits that show the systems whose mean is not far from the median, with their deviations."""
    means, lows, highs = (np.array([getattr(band, part) for band in systems]) for part in ("mean", "low", "high"))
    distances = np.abs(means - np.median(means))
    near = distances <= max(_FAR * float(np.median(distances)), 0.02 * abs(float(np.median(means))), 0.1)
    low, high = float(lows[near].min()), float(highs[near].max())
    margin = 0.1 * max(high - low, 0.1)
    return low - margin, high + margin


def limits_of_curves(curves: Sequence[Band]) -> Limits:
    """Return limits without scores far below the rest, such as those of some first iterations."""
    lows = [value for curve in curves for value in (curve.mean[0], curve.mean[-1], float(np.median(curve.mean)))]
    low, high = min(lows), max(float(curve.mean.max()) for curve in curves)
    margin = 0.08 * (high - low) + 0.05
    return low - margin, high + margin


def limits_of_losses(losses: Sequence[float]) -> Limits | None:
    """Return limits without losses much larger than most, on their side of 0; None if there are no losses."""
    sizes = np.abs(losses)
    worst = min(float(sizes.max()), max(_FAR * float(np.median(sizes)), 0.1))
    low, high = sorted(np.copysign(worst, sum(losses)) * np.array([1.05, -0.05]))
    return (float(low), float(high)) if worst else None


def limits_of_scores(scores: Vector, sign: int) -> Limits:
    """Return limits without the worst scores, which are the largest where the sign is -1."""
    far, best = sign * float(np.quantile(sign * scores, _LARGEST_SHARE)), sign * float((sign * scores).max())
    margin = 0.1 * abs(best - far) + 0.05
    return min(far, best) - margin, max(far, best) + margin
