"""Sets of candidates that are good and different from each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.character_vectors import character_vectors


def diverse_rows(
    texts: Sequence[str], values: NDArray[np.float64], count: int, weight: float = 1.0
) -> NDArray[np.int64]:
    """Choose `count` texts greedily: each maximises its value minus `weight` times its similarity to those chosen.

    Y. Jinnai et al., Generating Diverse and High-Quality Texts by Minimum Bayes Risk Decoding (Findings of ACL 2024),
    equation 7 with a greedy search. Values are brought to the range from 0 to 1. The similarity of two texts is the
    cosine of their character n-grams, averaged over the texts chosen so far; the paper uses the utility itself, which
    would need all pairs.

    >>> diverse_rows(["the cat sat", "the cat sits", "dogs ran"], np.array([3.0, 2.9, 2.5]), 2).tolist()
    [0, 1]
    >>> diverse_rows(["the cat sat", "the cat sits", "dogs ran"], np.array([3.0, 2.9, 2.5]), 2, weight=4.0).tolist()
    [0, 2]
    """
    known = np.flatnonzero(np.isfinite(values))
    if len(known) == 0:
        return known
    vectors = character_vectors([texts[i] for i in known.tolist()])
    low, high = float(values[known].min()), float(values[known].max())
    quality = (values[known] - low) / (high - low) if high > low else np.ones(len(known))
    similarity = np.zeros(len(known))
    chosen: list[int] = []
    for _ in range(min(count, len(known))):
        gains = quality - weight * similarity / max(1, len(chosen))
        gains[chosen] = -np.inf
        chosen.append(int(gains.argmax()))
        similarity += vectors @ vectors[chosen[-1]]
    return known[chosen]
