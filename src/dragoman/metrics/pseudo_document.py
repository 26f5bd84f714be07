"""BLEU of one sentence in the context of those translated before it (Chiang, Marton and Resnik 2008)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.metric import Scorer


@dataclass(frozen=True, eq=False)
class PseudoDocument:
    """Statistics of the translations so far, which fade exponentially, and the source words that they came from.

    A sentence is scored as part of the document, and the score scaled by the document's source length, so that the
    scores of sentences of different lengths can be compared: equation 4 and those before it.
    """

    statistics: NDArray[np.float64]
    source_length: float = 0.0
    decay: float = 0.9

    @classmethod
    def empty(cls, columns: int, decay: float = 0.9) -> PseudoDocument:
        """Return a document without sentences; `columns` is the number of statistics of the metric."""
        return cls(np.zeros(columns), 0.0, decay)

    def scores(
        self, scorer: Scorer, statistics: NDArray[np.float64], source_length: float | NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """Score hypotheses (rows) of a sentence: (O_f + |f|) · score(O + c(e)), the score as a share of 100."""
        return (self.source_length + source_length) * scorer.score(self.statistics + statistics) / 100

    def add(self, statistics: NDArray[np.float64], source_length: float) -> PseudoDocument:
        """Return the document with a chosen translation added, and faded: O ← 0.9 (O + c(ê))."""
        return PseudoDocument(
            self.decay * (self.statistics + statistics), self.decay * (self.source_length + source_length), self.decay
        )
