"""Lexicalised reordering: how likely each phrase pair is monotone, swapped or neither, to both neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.core.phrases import REORDERING_SCORES
from dragoman.training.extract import PhraseInstances


def score_reordering(
    instances: PhraseInstances, pair_of_instance: NDArray[np.int32], pairs: int, *, smoothing: float = 0.5
) -> NDArray[np.float32]:
    """Score an msd-bidirectional-fe model: for each of so many pairs the six REORDERING_SCORES.

    p(orientation | pair) = (count + `smoothing`) / (count of the pair + 3 `smoothing`) (Koehn et al. 2005).
    """
    scores = np.empty((pairs, len(REORDERING_SCORES)), np.float32)
    for column, orientation in ((0, instances.previous), (3, instances.next)):
        slots = pair_of_instance.astype(np.int64) * 3 + orientation
        counts = np.bincount(slots, minlength=3 * pairs).reshape(-1, 3) + smoothing
        scores[:, column : column + 3] = counts / counts.sum(axis=1, keepdims=True)
    return scores
