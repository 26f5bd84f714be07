"""N-grams with a value for each, and what strings have of them; for rules that score strings by n-grams."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.ngrams import NGramExpectations


@dataclass(frozen=True, eq=False)
class NGramValues:
    """Sentence `s` has the n-grams `sentences[s]` to `sentences[s + 1]`, with a value for each."""

    sentences: NDArray[np.int64]
    ngrams: Ragged[np.int32]
    values: NDArray[np.float64]

    @classmethod
    def of_hypergraph(cls, expectations: NGramExpectations) -> NGramValues:
        """Take the n-grams of one sentence's hypergraph."""
        return cls(np.array([0, len(expectations)]), expectations.ngrams, expectations.values)

    @classmethod
    def expected_counts(
        cls,
        strings: Ragged[np.int32],
        sentences: NDArray[np.int64],
        probabilities: NDArray[np.float64],
        order: int,
        *,
        runtime: Runtime = Runtime(),
    ) -> NGramValues:
        """How often each n-gram up to the order is expected, given the probability of each string of a sentence."""
        lists = kernels.StringLists(strings=strings.for_kernels(), sentences=sentences)
        bounds, words, offsets, counts = kernels.list_ngrams(lists, probabilities, order, runtime.threads)
        return cls(bounds, Ragged(words, offsets), counts)

    def with_values(self, values: NDArray[np.float64]) -> NGramValues:
        """Return the same n-grams with other values."""
        return replace(self, values=values)

    def sums(
        self,
        strings: Ragged[np.int32],
        sentences: NDArray[np.int64],
        order: int,
        *,
        missing: float = 0.0,
        clipped: bool = False,
        runtime: Runtime = Runtime(),
    ) -> NDArray[np.float64]:
        """For each string (row) and order (column) the sum of its n-grams' values.

        An n-gram counts as often as it occurs, or if `clipped`, min(occurrences, value) in all. One that its sentence
        does not list counts `missing`.
        """
        return kernels.ngram_sums(
            kernels.StringLists(strings=strings.for_kernels(), sentences=sentences),
            kernels.StringLists(strings=self.ngrams.for_kernels(), sentences=self.sentences),
            self.values,
            order,
            missing,
            clipped,
            runtime.threads,
        )
