"""What part of a scale a picture should show, so that what is alike can be told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.statistics.bands import Band

Vector = NDArray[np.float64]
Limits = tuple[float, float]

_FAR = 6  # median distances from the median, or median losses
_LARGEST_SHARE = 0.1  # of the scores of runs that may lie beyond the edge


def limits_of_systems(systems: Sequence[Band]) -> Limits:
    """The systems whose mean is not far from the median, with their deviations."""
    means, lows, highs = (np.array([getattr(band, part) for band in systems]) for part in ("mean", "low", "high"))
    distances = np.abs(means - np.median(means))
    near = distances <= max(_FAR * float(np.median(distances)), 0.02 * abs(float(np.median(means))), 0.1)
    low, high = float(lows[near].min()), float(highs[near].max())
    margin = 0.1 * max(high - low, 0.1)
    return low - margin, high + margin


def limits_of_curves(curves: Sequence[Band]) -> Limits:
    """What is not far below the rest, such as the bad weights of some first iterations."""
    lows = [value for curve in curves for value in (curve.mean[0], curve.mean[-1], float(np.median(curve.mean)))]
    low, high = min(lows), max(float(curve.mean.max()) for curve in curves)
    margin = 0.08 * (high - low) + 0.05
    return low - margin, high + margin


def limits_of_losses(losses: Sequence[float]) -> Limits | None:
    """Losses that are not much larger than most, on the side of 0 on which they are; None if there are none."""
    sizes = np.abs(losses)
    worst = min(float(sizes.max()), max(_FAR * float(np.median(sizes)), 0.1))
    low, high = sorted(np.copysign(worst, sum(losses)) * np.array([1.05, -0.05]))
    return (float(low), float(high)) if worst else None


def limits_of_scores(scores: Vector, sign: int) -> Limits:
    """All scores but the worst; where the sign is -1, these are the largest."""
    far, best = sign * float(np.quantile(sign * scores, _LARGEST_SHARE)), sign * float((sign * scores).max())
    margin = 0.1 * abs(best - far) + 0.05
    return min(far, best) - margin, max(far, best) + margin
