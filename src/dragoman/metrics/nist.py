"""NIST: n-grams weighted by their information."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import Metric, signature
from dragoman.metrics.references import References, ReferenceScorer, Tokenisation, ngram_totals, tokenise


@dataclass(frozen=True)
class Nist(Metric):
    """NIST (Doddington 2002): information of the matched n-grams for each n-gram, times a penalty for short output.

    The information of an n-gram is log2 of the number of times that its first n - 1 words occur in the references,
    divided by that of all n. Lengths are compared with the average reference; the penalty is 1/2 at two thirds of its
    length.
    """

    name: ClassVar[str] = "nist"

    order: int = option(5, "length of the longest n-grams", minimum=1, maximum=16)
    tokenise: Tokenisation = option("none", "tokeniser of sacreBLEU to apply")
    lowercase: bool = option(False, "ignore case")

    def scorer(self, references: Sequence[Corpus]) -> NistScorer:
        """Bind references."""
        return NistScorer(self, references)

    def signature(self) -> str:
        """Return the settings that reproduce the score."""
        case = "lc" if self.lowercase else "mixed"
        return signature(self.name, case=case, tok=self.tokenise, order=self.order, reflen="average")


class NistScorer(ReferenceScorer):
    """NIST with its references."""

    def __init__(self, metric: Nist, references: Sequence[Corpus]):
        prepared = partial(tokenise, tokenisation=metric.tokenise, lowercase=metric.lowercase)
        super().__init__(References(references, metric.name, prepared))
        self.metric = metric
        self.information = ngram_information(self.references.grouped, metric.order)

    def counts(
        self, hypotheses: Corpus, sentences: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return for each hypothesis: length, reference length, information and n-grams of each order."""
        words, order = self.references.encode(hypotheses), self.metric.order
        information = self.references.matches(words, sentences, order, self.information, runtime=runtime)
        reference_lengths = self.references.lengths.mean(axis=0)[sentences]
        return np.column_stack([words.lengths, reference_lengths, information, ngram_totals(words.lengths, order)])

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score sums of statistics."""
        order = self.metric.order
        length, reference_length = statistics[..., 0], statistics[..., 1]
        information, totals = statistics[..., 2 : 2 + order], statistics[..., 2 + order :]
        gain = (information / np.maximum(totals, 1)).sum(axis=-1)
        ratio = np.minimum(1.0, length / np.where(reference_length > 0, reference_length, np.maximum(length, 1)))
        with np.errstate(divide="ignore"):
            penalty = np.exp(math.log(0.5) / math.log(1.5) ** 2 * np.log(ratio) ** 2)
        return np.asarray(gain * penalty)


def ngram_information(rows: Ragged[np.int32], order: int) -> NDArray[np.float64]:
    """Return the information in bits of the n-gram of each order (column) that begins at each word (row).

    Zero where the sentence ends before the n-gram does.
    """
    words = rows.values.astype(np.int64)
    left = np.repeat(rows.offsets[1:], rows.lengths) - np.arange(len(words))  # words to the end of the sentence
    information = np.zeros((len(words), order))
    prefix = np.zeros(len(words), np.int64)  # each n-gram's number among those of its order
    prefix_count = np.full(len(words), len(words))
    vocabulary = int(words.max(initial=0)) + 1
    for n in range(order):
        begins = np.flatnonzero(left > n)
        if len(begins) == 0:
            break
        keys = prefix[begins] * vocabulary + words[begins + n]
        _, numbers, counts = np.unique(keys, return_inverse=True, return_counts=True)
        information[begins, n] = np.log2(prefix_count[begins] / counts[numbers])
        prefix[begins] = numbers
        prefix_count[begins] = counts[numbers]
    return information
