"""Many tests at once: Holm's step-down correction of p-values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Correction = Literal["none", "holm"]

SIGNIFICANT = 0.05
"""The largest corrected p-value that counts as significant."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct the p-values of a family of tests (Holm 1979); the order stays.

    The smallest of m is multiplied by m, the next one by m - 1 and so on; none becomes smaller than one before it, or
    larger than 1. If a difference is called significant where its corrected p-value is at most 0.05, the chance that
    any of them is called so wrongly is at most 0.05, however the tests depend on each other.

    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, test in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = min(1.0, max(largest, (len(p_values) - rank) * p_values[test]))
        corrected[test] = largest
    return corrected


def draws_needed(tests: int) -> int:
    """How many resamples or shuffles the smallest p-value of so many tests needs to be significant when corrected.

    >>> draws_needed(66)
    1319
    """
    return round(tests / SIGNIFICANT) - 1
