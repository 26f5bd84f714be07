"""The numbers of several runs in few characters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def mean_sd(values: NDArray[np.generic] | None, digits: int = 2) -> str:
    """The mean, and ± the standard deviation if there is more than one number.

    >>> mean_sd(np.array([1.0, 2.0, 3.0])).replace("\\N{NO-BREAK SPACE}", " ")
    '2.00 ± 1.00'
    """
    if values is None:
        return ""
    numbers = np.asarray(values, np.float64)
    mean = f"{numbers.mean():.{digits}f}"
    return f"{mean}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{numbers.std(ddof=1):.{digits}f}" if len(numbers) > 1 else mean


def geometric_mean(values: Sequence[float]) -> str:
    """The geometric mean, and the smallest and largest where they differ.

    >>> geometric_mean([1.0, 4.0])
    '2 (1 to 4)'
    """
    if not values:
        return ""
    mean = f"{np.exp(np.log(values).mean()):.3g}"
    return mean if min(values) == max(values) else f"{mean} ({min(values):g} to {max(values):g})"


def mean_of_beginnings(rows: Sequence[Sequence[float]], most: int) -> NDArray[np.float64]:
    """The mean of rows at each place that all of them have, of so many places at the most.

    >>> mean_of_beginnings([[1.0, 2.0, 3.0], [3.0, 4.0]], 50).tolist()
    [2.0, 3.0]
    """
    places = min(most, *map(len, rows))
    mean: NDArray[np.float64] = np.array([row[:places] for row in rows], np.float64).mean(axis=0)
    return mean
