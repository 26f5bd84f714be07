"""chrF: F-score of character n-grams, and chrF++ with word n-grams."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import SACREBLEU, Metric, signature
from dragoman.metrics.references import HypothesisReferenceIds, References, ReferenceScorer, change_words, ngram_totals

_PUNCTUATION = re.compile(r"""(\S+)([!-/:-@\[-`{-~])(?!\S)|(?<!\S)([!-/:-@\[-`{-~])(\S+)""")

#: Precision or recall of an order that does not occur, with `eps_smoothing`.
_EPSILON = 1e-16


@dataclass(frozen=True)
class Chrf(Metric):
    """chrF (Popović 2015), equal to sacreBLEU's; `word_order=2` is chrF++ (Popović 2017).

    With several references, a sentence counts against the one that gives it the best score. Costs one pass over the
    hypotheses' n-grams for each reference.
    """

    name: ClassVar[str] = "chrf"

    char_order: int = option(6, "length of the longest character n-grams", minimum=0, maximum=16)
    word_order: int = option(0, "length of the longest word n-grams", minimum=0, maximum=16)
    beta: int = option(2, "weight of recall relative to precision", minimum=0)
    lowercase: bool = option(False, "ignore case")
    whitespace: bool = option(False, "count the spaces between words as characters")
    eps_smoothing: bool = option(False, "average F over all orders, as in chrF++.py, Moses and NLTK")

    def scorer(self, references: Sequence[Corpus]) -> ChrfScorer:
        """Bind references."""
        return ChrfScorer(self, references)

    def signature(self) -> str:
        """Return the settings that reproduce the score."""
        return signature(
            self.name + "+" * self.word_order,
            case="lc" if self.lowercase else "mixed",
            eff="no" if self.eps_smoothing else "yes",
            nc=self.char_order,
            nw=self.word_order,
            space=self.whitespace,
            beta=self.beta,
            equals=SACREBLEU,
        )

    def characters(self, corpus: Corpus) -> Ragged[np.int32]:
        """Return sentences as code points, prepared as the options say."""
        text = corpus.text().decode()
        points = np.frombuffer((text.lower() if self.lowercase else text).encode("utf-32-le"), np.int32)
        ends = np.flatnonzero(points == ord("\n"))
        kept = points != ord("\n") if self.whitespace else _is_no_space().take(points, mode="clip")
        places = np.flatnonzero(kept)
        offsets = np.concatenate([[0], np.searchsorted(places, ends)]).astype(np.int64)
        return Ragged(points[places], offsets)


class ChrfScorer(ReferenceScorer):
    """ChrF with its references."""

    def __init__(self, metric: Chrf, references: Sequence[Corpus]):
        self.metric = metric
        super().__init__(References(references, metric.name, self._words))
        self.characters = [self.metric.characters(reference) for reference in references]

    def counts(
        self, hypotheses: Corpus, sentences: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return for each hypothesis and order: n-grams, n-grams of the reference, matches."""
        characters, words = self.metric.characters(hypotheses), self.references.encode(hypotheses)

        def against(reference_characters: Ragged[np.int32], reference_words: Ragged[np.int32]) -> NDArray[np.float64]:
            counts = [
                _overlap(
                    HypothesisReferenceIds(characters, sentences, reference_characters), self.metric.char_order, runtime
                ),
                _overlap(HypothesisReferenceIds(words, sentences, reference_words), self.metric.word_order, runtime),
            ]
            return np.concatenate(counts, axis=1)

        return self.best_counts(map(against, self.characters, self.references.rows))

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score sums of statistics: F of the average precision and the average recall of the orders that occur."""
        beta = float(self.metric.beta**2)
        if self.metric.eps_smoothing:
            shown, possible, matches = (statistics[..., part::3] for part in range(3))
            precisions = np.where(shown > 0, matches / np.where(shown > 0, shown, 1.0), _EPSILON)
            recalls = np.where(possible > 0, matches / np.where(possible > 0, possible, 1.0), _EPSILON)
            means = beta * precisions + recalls
            scores = np.where(means > 0, (1 + beta) * precisions * recalls / np.where(means > 0, means, 1.0), _EPSILON)
            return np.asarray(100 * scores.mean(axis=-1))
        precision, recall, orders = np.zeros((3, *statistics.shape[:-1]))
        for n in range(0, statistics.shape[-1], 3):
            shown, possible, matches = statistics[..., n], statistics[..., n + 1], statistics[..., n + 2]
            occurs = (shown > 0) & (possible > 0)
            precision += np.where(occurs, matches / np.where(occurs, shown, 1.0), 0.0)
            recall += np.where(occurs, matches / np.where(occurs, possible, 1.0), 0.0)
            orders += occurs
        precision /= np.maximum(orders, 1)
        recall /= np.maximum(orders, 1)
        sums = beta * precision + recall
        return np.asarray(100 * ((1 + beta) * precision * recall / np.where(sums > 0, sums, 1.0)))

    def _words(self, corpus: Corpus) -> Corpus:
        def change(text: str) -> str:
            text = text.lower() if self.metric.lowercase else text
            # One punctuation mark is cut off a word: the last character, or else the first.
            return _PUNCTUATION.sub(lambda m: f"{m[1]} {m[2]}" if m[1] else f"{m[3]} {m[4]}", text)

        return change_words(corpus, change) if self.metric.word_order else corpus


@cache
def _is_no_space() -> NDArray[np.bool_]:
    """Return a flag for each code point of the basic plane: False for white space (no other plane has any)."""
    return np.array([not chr(point).isspace() for point in range(0x10000)])


def _overlap(compared: HypothesisReferenceIds, order: int, runtime: Runtime) -> NDArray[np.float64]:
    """Return n-grams of the hypothesis, of the reference, and in both, for each order in turn."""
    hypotheses, sentences, references = compared
    if order == 0:
        return np.empty((len(hypotheses), 0))
    matches = compared.matches(order, runtime=runtime)
    shown = ngram_totals(hypotheses.lengths, order)
    possible = ngram_totals(references.lengths[sentences], order)
    shown = np.where(possible > 0, shown, 0)  # as in sacreBLEU: what the reference is too short for does not count
    return np.stack([shown, possible, matches], axis=2).reshape(len(hypotheses), 3 * order)
