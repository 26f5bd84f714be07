"""What a batch of translations is worth to a metric, where one sentence must count for something."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.metric import Scorer


@dataclass(frozen=True, eq=False)
class BatchValue:
    """Scores sums of statistics: `sign` times the metric; if it is BLEU, `smoothing` is added to all counts."""

    scorer: Scorer
    sign: int = 1
    smoothing: float = 0.01

    def __call__(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value of each row."""
        if self.scorer.bleu_columns is not None:
            return self.sign * smoothed_bleu(statistics[..., self.scorer.bleu_columns], self.smoothing)
        return np.asarray(self.sign * self.scorer.score(statistics), np.float64)


def smoothed_bleu(counts: NDArray[np.float64], smoothing: float) -> NDArray[np.float64]:
    """BLEU from 0 to 100 with a constant added to all counts: matches, totals, length, reference length.

    >>> smoothed_bleu(np.array([2.0, 1, 4, 3, 4, 4]), 0.0).round(4).tolist()  # √(2/4 · 1/3)
    40.8248
    """
    order = (counts.shape[-1] - 2) // 2
    counts = counts + smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(counts[..., :order] / counts[..., order : 2 * order]).mean(axis=-1)
        penalty = np.minimum(0.0, 1 - counts[..., -1] / counts[..., -2])
        return np.asarray(np.nan_to_num(100 * np.exp(logs + penalty), nan=0.0))
