"""METEOR: F-score of matched words, with a penalty for matches in many pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import Metric
from dragoman.metrics.porter import stem
from dragoman.metrics.preparation import change_words
from dragoman.metrics.reference_scorer import ReferenceScorer
from dragoman.metrics.references import Compared, References
from dragoman.metrics.signature import signature


@dataclass(frozen=True)
class Meteor(Metric):
    """METEOR with exact and stem matching, in the parameters of Banerjee & Lavie (2005); from 0 to 100.

    Words are aligned one to one: first as many equal words, then as many words of equal Porter stems as possible, in
    the fewest chunks (runs that are adjacent on both sides) that a beam search finds. With precision P and recall R of
    the matches, the score is (1 - gamma (chunks / matches)^beta) P R / (alpha P + (1 - alpha) R). There are no
    synonyms, paraphrases or function words, so it is not the number of the later METEOR programs. With several
    references, a sentence counts against the one that gives it the best score.
    """

    name: ClassVar[str] = "meteor"

    stemmer: Literal["porter", "none"] = option("porter", "porter for English; none matches equal words only")
    alpha: float = option(0.9, "weight of recall against precision", minimum=0, maximum=1)
    beta: float = option(3.0, "how fast the penalty grows with fragmentation", minimum=0)
    gamma: float = option(0.5, "the largest penalty", minimum=0, maximum=1)
    stem_weight: float = option(1.0, "what a stem match counts", minimum=0, maximum=1)
    lowercase: bool = option(True, "ignore case")
    beam: int = option(40, "alignments kept while looking for the fewest chunks", minimum=1)

    def scorer(self, references: Sequence[Corpus]) -> MeteorScorer:
        """Bind references."""
        return MeteorScorer(self, references)

    def signature(self) -> str:
        """Return what must be known to get the same number again."""
        return signature(
            self.name,
            case="lc" if self.lowercase else "mixed",
            modules="exact+porter" if self.stemmer == "porter" else "exact",
            alpha=self.alpha,
            beta=self.beta,
            gamma=self.gamma,
            stem=self.stem_weight if self.stemmer == "porter" else None,
            beam=self.beam,
        )


class MeteorScorer(ReferenceScorer):
    """METEOR with its references."""

    def __init__(self, metric: Meteor, references: Sequence[Corpus]):
        self.metric = metric
        super().__init__(References(references, metric.name, lambda corpus: change_words(corpus, self._words)))
        self.stems = (
            References(references, metric.name, lambda corpus: change_words(corpus, self._stems))
            if metric.stemmer == "porter"
            else self.references
        )

    def counts(
        self, hypotheses: Corpus, sentences: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return for each hypothesis: length, reference length, exact matches, stem matches, chunks."""
        words, stems = self.references.encode(hypotheses), self.stems.encode(hypotheses)

        def against(reference: Ragged[np.int32], reference_stems: Ragged[np.int32]) -> NDArray[np.float64]:
            matches = kernels.meteor_matches(
                Compared(words, sentences, reference).for_kernels(),
                Compared(stems, sentences, reference_stems).for_kernels(),
                self.metric.beam,
                runtime.threads,
            )
            return np.column_stack([words.lengths, reference.lengths[sentences], matches]).astype(np.float64)

        return self.best_counts(map(against, self.references.rows, self.stems.rows))

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score sums of statistics; one sentence that equals its reference has no penalty."""
        metric = self.metric
        length, reference_length, exact, stems, chunks = np.moveaxis(statistics, -1, 0)
        matches, weighted = exact + stems, exact + metric.stem_weight * stems
        precision = weighted / np.maximum(length, 1)
        recall = weighted / np.maximum(reference_length, 1)
        mixed = metric.alpha * precision + (1 - metric.alpha) * recall
        f_score = precision * recall / np.where(mixed > 0, mixed, 1.0)
        whole = (chunks == 1) & (exact == length) & (exact == reference_length)
        penalty = np.where(whole, 0.0, metric.gamma * (chunks / np.maximum(matches, 1)) ** metric.beta)
        return np.asarray(100 * (1 - penalty) * f_score)

    def _words(self, text: str) -> str:
        return text.lower() if self.metric.lowercase else text

    def _stems(self, text: str) -> str:
        return "\n".join(" ".join(map(stem, line.split())) for line in self._words(text).split("\n"))
