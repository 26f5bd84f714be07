"""Accuracy: the fraction of segments that equal a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import Metric, signature
from dragoman.metrics.references import HypothesisReferenceIds, References, ReferenceScorer, change_words


@dataclass(frozen=True)
class Accuracy(Metric):
    """Segments, in percent, whose words are those of a reference; white space between them does not matter.

    It is what single words are judged by (spelling, transliteration); whole sentences are hardly ever equal.
    """

    name: ClassVar[str] = "accuracy"

    lowercase: bool = option(False, "ignore case")

    def scorer(self, references: Sequence[Corpus]) -> AccuracyScorer:
        """Bind references."""
        return AccuracyScorer(References(references, self.name, self._folded if self.lowercase else None))

    def signature(self) -> str:
        """Return the settings that reproduce the score."""
        return signature(self.name, case="lc" if self.lowercase else "mixed", refs="any")

    def _folded(self, corpus: Corpus) -> Corpus:
        return change_words(corpus, str.lower)


class AccuracyScorer(ReferenceScorer):
    """Accuracy with its references."""

    def counts(
        self, hypotheses: Corpus, sentences: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return for each hypothesis: whether it equals a reference, and 1."""
        words = self.references.encode(hypotheses)
        equal = np.zeros(len(words), bool)
        for reference in self.references.rows:
            equal |= (
                kernels.edit_distances(
                    HypothesisReferenceIds(words, sentences, reference).for_kernels(), runtime.threads
                )
                == 0
            )
        return np.column_stack([equal, np.ones(len(words))]).astype(np.float64)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score sums of statistics."""
        equal, segments = statistics[..., 0], statistics[..., 1]
        return np.asarray(100 * equal / np.maximum(segments, 1.0))
