"""Phrase translation probabilities from counts: relative frequencies, Good-Turing and Kneser-Ney discounting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runtime import Runtime

Probabilities = tuple[NDArray[np.float64], NDArray[np.float64]]

#: Good-Turing discounts counts up to this one.
_HIGHEST_DISCOUNTED = 8
_LOWEST_DISCOUNT = 0.01


@dataclass(frozen=True, eq=False)
class PairCounts:
    """For each phrase pair how often it, its source and its target were extracted, and the number of distinct pairs
    with that source and with that target.

    `histogram` has how many pairs occurred 0, 1, 2, .. times, and `total` the number of all: of these pairs or, if they
    are some of the pairs of a text, of all pairs of it.
    """

    joint: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    distinct_source: NDArray[np.int64]
    distinct_target: NDArray[np.int64]
    histogram: NDArray[np.int64]
    total: int

    @classmethod
    def of(cls, source_ids: NDArray[np.int32], target_ids: NDArray[np.int32], joint: NDArray[np.int64]) -> PairCounts:
        """Sum up the marginals of distinct pairs."""
        return cls(
            joint,
            np.bincount(source_ids, joint).astype(np.int64)[source_ids],
            np.bincount(target_ids, joint).astype(np.int64)[target_ids],
            np.bincount(source_ids)[source_ids],
            np.bincount(target_ids)[target_ids],
            count_histogram(joint),
            len(joint),
        )

    def __len__(self) -> int:
        return len(self.joint)


def count_histogram(joint: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many pairs occurred c times, for the counts c that smoothing asks for."""
    few = joint[joint <= _HIGHEST_DISCOUNTED + 1]
    return np.bincount(few, minlength=_HIGHEST_DISCOUNTED + 2)


def relative_frequency(counts: PairCounts, *, runtime: Runtime = Runtime()) -> Probabilities:
    """p(f|e) and p(e|f) as they were counted."""
    return counts.joint / counts.target, counts.joint / counts.source


def good_turing(counts: PairCounts, *, runtime: Runtime = Runtime()) -> Probabilities:
    """Discount low counts c to (c + 1) n(c + 1) / n(c), as Moses does (Foster, Kuhn & Johnson 2006, section 3.1).

    0.1 is added to each n; the ratio to c is kept between 0.01 and 1 and does not fall as c grows.
    """
    n = counts.histogram.astype(np.float64)
    if n[1] == 0 or n[2] == 0:
        runtime.warn("Good-Turing smoothing needs phrase pairs that occur once and twice; probabilities are unsmoothed")
        return relative_frequency(counts)
    c = np.arange(1, _HIGHEST_DISCOUNTED + 1)
    ratio = (c + 1) / c * (n[c + 1] + 0.1) / (n[c] + 0.1)
    discount = np.maximum.accumulate(np.concatenate([[_LOWEST_DISCOUNT], np.minimum(ratio, 1), [1]]))
    adjusted = counts.joint * discount[np.minimum(counts.joint, _HIGHEST_DISCOUNTED + 1)]
    return adjusted / counts.target, adjusted / counts.source


def kneser_ney(counts: PairCounts, *, runtime: Runtime = Runtime()) -> Probabilities:
    """Subtract D1, D2 or D3 from counts of one, two and more, and give the mass to the lower-order distribution.

    Modified Kneser-Ney (Foster, Kuhn & Johnson 2006, section 3.2) as Moses has it: what is given back is computed
    with the discount of the pair itself, so that the probabilities of a phrase need not sum to exactly one.
    """
    n = counts.histogram.astype(np.float64)
    if np.any(n[1:4] == 0):
        runtime.warn(
            "Kneser-Ney smoothing needs phrase pairs that occur once, twice and three times; "
            "probabilities are unsmoothed"
        )
        return relative_frequency(counts)
    y = n[1] / (n[1] + 2 * n[2])
    c = np.arange(1, 4)
    discounts = np.minimum(c - (c + 1) * y * n[c + 1] / n[c], c - 0.1)
    if np.any(discounts <= 0):
        runtime.warn("Kneser-Ney smoothing needs counts of counts that fall; probabilities are unsmoothed")
        return relative_frequency(counts)
    d = discounts[np.minimum(counts.joint, 3) - 1]
    given_back = d * counts.distinct_source * counts.distinct_target / counts.total
    adjusted = counts.joint - d + given_back
    return adjusted / counts.target, adjusted / counts.source


SMOOTHINGS: dict[str, Callable[..., Probabilities]] = {
    "none": relative_frequency,
    "good-turing": good_turing,
    "kneser-ney": kneser_ney,
}
