"""BLEU: n-gram precision with a brevity penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import SACREBLEU, Metric, signature
from dragoman.metrics.references import References, ReferenceScorer, Tokenisation, ngram_totals, tokenise

#: The larger, the closer to BLEU: the brevity penalty differs from BLEU's by a factor of at most 2^(1/1000), and only
#: where hypotheses and references have about the same length.
SHARPNESS = 1000.0


class SmoothBleu(NamedTuple):
    """A score from 0 to 100 and its derivatives."""

    score: float
    by_matches: NDArray[np.float64]
    by_totals: NDArray[np.float64]
    by_hypothesis_length: float
    by_reference_length: float


def smooth_bleu(
    matches: NDArray[np.float64], totals: NDArray[np.float64], hypothesis_length: float, reference_length: float
) -> SmoothBleu:
    """Return 100 · exp(mean over n of log(matches_n / totals_n) + b(1 - reference length / hypothesis length)).

    BLEU has b(z) = min(0, z); here b(z) = -log(1 + exp(-k z)) / k with k = `SHARPNESS`. Where BLEU is 0, so are the
    score and all derivatives.

    >>> round(smooth_bleu(np.array([8.0, 6.0]), np.array([10.0, 8.0]), 10.0, 9.0).score, 6)
    77.459667
    """
    n = len(matches)
    if min(matches.min(), totals.min(), hypothesis_length) <= 0:
        return SmoothBleu(0.0, np.zeros(n), np.zeros(n), 0.0, 0.0)
    shortness = 1 - reference_length / hypothesis_length
    penalty = -np.logaddexp(0, -SHARPNESS * shortness) / SHARPNESS
    # exp of what is added above: the derivative of b without overflow.
    slope = np.exp(-np.logaddexp(0, SHARPNESS * shortness))
    score = 100 * float(np.exp(np.log(matches / totals).mean() + penalty))
    return SmoothBleu(
        score,
        score / n / matches,
        -score / n / totals,
        float(score * slope * reference_length / hypothesis_length**2),
        float(-score * slope / hypothesis_length),
    )


ReferenceLength = Literal["closest", "shortest", "average"]
Smoothing = Literal["none", "exp", "floor", "add-k"]
SentenceSmoothing = Literal["add-one", "none", "exp", "floor", "add-k"]


@dataclass(frozen=True)
class Bleu(Metric):
    """BLEU (Papineni et al. 2002), from 0 to 100; corpus scores equal sacreBLEU's.

    A hypothesis' statistics are its length, the reference length, the clipped matches of each order, and the n-grams
    of each order. Counting costs one pass over the hypotheses' n-grams, whatever the number of references.
    """

    name: ClassVar[str] = "bleu"

    order: int = option(4, "length of the longest n-grams", minimum=1, maximum=16)
    reference_length: ReferenceLength = option("closest", "length that counts if there are several references")
    tokenise: Tokenisation = option("none", "tokeniser of sacreBLEU to apply")
    lowercase: bool = option(False, "ignore case")
    smoothing: Smoothing = option("exp", "smoothing of corpus scores if an order has no match")
    sentence_smoothing: SentenceSmoothing = option("add-one", "smoothing of sentence scores (add-one: orders >= 2)")
    smoothing_value: float | None = option(None, "the value of floor (0.1) and add-k (1)", minimum=0)

    def scorer(self, references: Sequence[Corpus]) -> BleuScorer:
        """Bind references."""
        return BleuScorer(self, references)

    def signature(self) -> str:
        """Return the settings that reproduce the score."""
        return signature(
            self.name,
            case="lc" if self.lowercase else "mixed",
            eff="no",
            tok=self.tokenise,
            smooth=_with_value(self.smoothing, self.smoothing_value),
            order=self.order,
            reflen=self.reference_length,
            equals=SACREBLEU if self.reference_length == "closest" else None,
        )


class BleuScorer(ReferenceScorer):
    """BLEU with its references."""

    def __init__(self, metric: Bleu, references: Sequence[Corpus]):
        prepared = partial(tokenise, tokenisation=metric.tokenise, lowercase=metric.lowercase)
        super().__init__(References(references, metric.name, prepared))
        self.metric = metric
        # Statistics are the two lengths, matches, totals; tuners find them by these columns.
        self.bleu_columns = np.array([*range(2, 2 + 2 * metric.order), 0, 1])

    def counts(
        self, hypotheses: Corpus, sentences: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return for each hypothesis: length, reference length, matches of each order, n-grams of each order."""
        return self.counts_of_words(self.references.encode(hypotheses), sentences, runtime=runtime)

    def counts_of_words(
        self, words: Ragged[np.int32], sentences: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return the same for hypotheses in the references' ids, with -1 for words that no reference has."""
        order = self.metric.order
        matches = self.references.matches(words, sentences, order, runtime=runtime)
        reference_lengths = self.reference_lengths(words.lengths, sentences)
        return np.column_stack([words.lengths, reference_lengths, matches, ngram_totals(words.lengths, order)])

    def reference_lengths(self, lengths: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the effective reference length of hypotheses of some lengths, for these sentences."""
        candidates = self.references.lengths[:, rows].astype(np.float64)
        if self.metric.reference_length == "average":
            return np.asarray(candidates.mean(axis=0))
        shortest_first = np.sort(candidates, axis=0)
        if self.metric.reference_length == "shortest":
            return np.asarray(shortest_first[0])
        closest = np.abs(shortest_first - lengths).argmin(axis=0)  # the first, thus the shortest, of equally close
        return np.asarray(shortest_first[closest, np.arange(len(rows))])

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score sums of statistics."""
        return bleu_scores(statistics, self.metric.smoothing, self.metric.smoothing_value)

    def details(self, statistics: NDArray[np.float64]) -> dict[str, object]:
        """Return precisions in per cent, smoothed as in the score, the brevity penalty, the lengths and their ratio."""
        length, reference_length = statistics[:2].tolist()
        short = length < reference_length
        penalty = (np.exp(1 - reference_length / length) if length else 0.0) if short else 1.0
        shown, possible = _smoothed(statistics, self.metric.smoothing, self.metric.smoothing_value)
        matched = bool((statistics[2 : 2 + self.metric.order] > 0).any())
        precisions = 100 * np.divide(shown, possible, out=np.zeros(len(shown)), where=(possible > 0) & matched)
        return {
            "precisions": precisions.tolist(),
            "brevity_penalty": float(penalty),
            "length_ratio": length / reference_length if reference_length else 0.0,
            "hypothesis_length": length,
            "reference_length": reference_length,
        }

    def smooth_score(self, statistics: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Score one sum of statistics that need not be counts, and return the derivatives with respect to them."""
        order = (len(statistics) - 2) // 2
        bleu = smooth_bleu(statistics[2 : 2 + order], statistics[2 + order :], statistics[0], statistics[1])
        lengths = [bleu.by_hypothesis_length, bleu.by_reference_length]
        return bleu.score, np.concatenate([lengths, bleu.by_matches, bleu.by_totals])

    def sentence_scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score single sentences, smoothed.

        Orders that a short sentence does not have are left out of the mean; under add-one and add-k, the orders >= 2
        among them stay, as k of k matches.
        """
        smoothing = self.metric.sentence_smoothing
        if smoothing == "add-one":  # BLEU+1 of Lin & Och (2004)
            return bleu_scores(statistics, "add-k", 1.0, effective_order=True)
        return bleu_scores(statistics, smoothing, self.metric.smoothing_value, effective_order=True)


def bleu_scores(
    statistics: NDArray[np.float64],
    smoothing: Smoothing = "none",
    value: float | None = None,
    *,
    effective_order: bool = False,
) -> NDArray[np.float64]:
    """Score BLEU statistics (the last axis) as sacreBLEU does, with its smoothings (Chen & Cherry 2014).

    `effective_order` leaves out the orders for which the hypotheses have no n-grams, after smoothing: add-k gives each
    order >= 2 some, so that there an order without n-grams counts as k of k matches.

    >>> float(bleu_scores(np.array([4.0, 4, 4, 3, 2, 1, 4, 3, 2, 1])).round(9))
    100.0
    """
    statistics = np.asarray(statistics, np.float64)
    order = (statistics.shape[-1] - 2) // 2
    length, reference_length = statistics[..., 0], statistics[..., 1]
    shown, possible = _smoothed(statistics, smoothing, value)
    present = np.cumprod(possible > 0, axis=-1).astype(bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(present, np.log(shown) - np.log(possible), 0.0 if effective_order else -np.inf)
        used = np.maximum(present.sum(axis=-1), 1) if effective_order else order
        penalty = np.where(length < reference_length, 1 - reference_length / length, 0.0)
        scores = 100 * np.exp(penalty + logs.sum(axis=-1) / used)
    return np.where((statistics[..., 2 : 2 + order] > 0).any(axis=-1), scores, 0.0)


def _smoothed(
    statistics: NDArray[np.float64], smoothing: Smoothing, value: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return matches and n-grams of each order, smoothed."""
    order = (statistics.shape[-1] - 2) // 2
    matches, totals = statistics[..., 2 : 2 + order], statistics[..., 2 + order :]
    value = _value(smoothing, value)
    if smoothing == "add-k":
        added = np.where(np.arange(order) > 0, value, 0.0)
        return matches + added, totals + added
    if smoothing == "floor":
        return np.where(matches == 0, value, matches), totals
    if smoothing == "exp":  # 1/2 a match for the first order without one, 1/4 for the second, …
        zeros = np.cumsum((matches == 0) & (totals > 0), axis=-1)
        return np.where(matches == 0, 0.5**zeros, matches), totals
    return matches, totals


def _value(smoothing: Smoothing, value: float | None) -> float:
    return value if value is not None else 0.1 if smoothing == "floor" else 1.0


def _with_value(smoothing: Smoothing, value: float | None) -> str:
    return f"{smoothing}[{_value(smoothing, value):.2f}]" if smoothing in ("floor", "add-k") else smoothing
