"""Several runs as one line with a band around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Band:
    """The mean of runs at each place, and what is shown of how they differ."""

    mean: Vector
    low: Vector
    high: Vector


def deviation_band(runs: Vector) -> Band:
    """The mean of rows, ± 1 standard deviation; of a single row, no more than itself.

    >>> band = deviation_band(np.array([[1.0, 2.0], [3.0, 2.0]]))
    >>> band.mean.tolist(), band.low.round(2).tolist()
    ([2.0, 2.0], [0.59, 2.0])
    """
    mean = runs.mean(axis=0)
    deviation = runs.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros_like(mean)
    return Band(mean, mean - deviation, mean + deviation)


def range_band(runs: Vector) -> Band:
    """The mean of rows, from the smallest to the largest."""
    return Band(runs.mean(axis=0), runs.min(axis=0), runs.max(axis=0))
