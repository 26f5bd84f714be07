"""Word error rates: WER by edit distance, and PER without regard to order."""

from __future__ import annotations

from abc import abstractmethod
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
from dragoman.metrics.references import (
    HypothesisReferenceIds,
    Preparation,
    References,
    ReferenceScorer,
    words_as_in_sacrebleu,
)


@dataclass(frozen=True)
class ErrorRate(Metric):
    """Edits in percent of the references' words; with several references the fewest edits, the average length."""

    @property
    def higher_is_better(self) -> bool:
        """Fewer errors are better."""
        return False

    def scorer(self, references: Sequence[Corpus]) -> ErrorRateScorer:
        """Bind references."""
        return ErrorRateScorer(self, References(references, self.name, self.preparation()))

    def preparation(self) -> Preparation | None:
        """Return the preparation of the text."""
        return None

    @abstractmethod
    def edits(self, compared: HypothesisReferenceIds, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
        """Count the edits from each hypothesis to its sentence's reference."""


@dataclass(frozen=True)
class WordErrorRate(ErrorRate):
    """An error rate of words, or of lower-cased words."""

    lowercase: bool = option(False, "ignore case")

    def signature(self) -> str:
        """Return the settings that reproduce the score."""
        return signature(self.name, case="lc" if self.lowercase else "mixed", refs="fewest-edits", reflen="average")

    def preparation(self) -> Preparation:
        """Lower-case on request."""
        return lambda corpus: words_as_in_sacrebleu(corpus, lowercase=self.lowercase)


class ErrorRateScorer(ReferenceScorer):
    """An error rate with its references."""

    def __init__(self, metric: ErrorRate, references: References):
        super().__init__(references)
        self.metric = metric

    def counts(
        self, hypotheses: Corpus, sentences: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return for each hypothesis: edits, reference length."""
        words = self.references.encode(hypotheses)
        compared = [HypothesisReferenceIds(words, sentences, reference) for reference in self.references.rows]
        edits = np.stack([self.metric.edits(one, runtime=runtime) for one in compared], axis=0)
        return np.column_stack([edits.min(axis=0), self.references.lengths.mean(axis=0)[sentences]])

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score sums of statistics; against empty references any word is an error, and no words are correct."""
        edits, length = statistics[..., 0], statistics[..., 1]
        return 100 * np.where(length > 0, edits / np.where(length > 0, length, 1.0), (edits > 0).astype(np.float64))


@dataclass(frozen=True)
class Wer(WordErrorRate):
    """Word error rate (Niessen et al. 2000): the Levenshtein distance to the closest reference.

    Costs the product of the two lengths for each hypothesis and reference.
    """

    name: ClassVar[str] = "wer"

    def edits(self, compared: HypothesisReferenceIds, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
        """Count insertions, deletions and substitutions."""
        return kernels.edit_distances(compared.for_kernels(), runtime.threads)


@dataclass(frozen=True)
class Per(WordErrorRate):
    """Position-independent error rate (Tillmann et al. 1997): word error rate of sentences as bags of words.

    Words without a partner on the other side are substitutions; what is left of the longer side is insertions or
    deletions: max(length, reference length) - matches.
    """

    name: ClassVar[str] = "per"

    def edits(self, compared: HypothesisReferenceIds, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
        """Count unmatched words, on the side that has more of them."""
        longer = np.maximum(compared.hypotheses.lengths, compared.references.lengths[compared.sentences])
        return longer - compared.matches(1, runtime=runtime)[:, 0].astype(np.int64)
