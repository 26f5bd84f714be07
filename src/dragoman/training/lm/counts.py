"""Counting n-grams, every order from the one below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import BOS, EOS


@dataclass(frozen=True, eq=False)
class NGramCounts:
    """The distinct n-grams of one order, sorted by their ids, and how often each occurs.

    `contexts` and `suffixes` are the rows of the n-grams without their last and without their first word in the
    table of the order below. Unigrams have one row for each word of the vocabulary, with zeros in both.
    """

    words: NDArray[np.int32]
    contexts: NDArray[np.int32]
    suffixes: NDArray[np.int32]
    occurrences: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.words)


def count_ngrams(
    sentences: Ragged[np.int32], vocab_size: int, order: int, *, threads: int = 1
) -> Iterator[NGramCounts]:
    """Yield the n-grams of order 1, 2, … `order` of sentences that begin with `<s>` and end with `</s>`.

    >>> unigrams, bigrams = count_ngrams(Ragged.of([[3, 3]], np.int32), 4, 2)
    >>> unigrams.occurrences.tolist(), bigrams.words.tolist(), bigrams.occurrences.tolist()
    ([0, 0, 1, 2], [[1, 3], [3, 2], [3, 3]], [1, 1, 1])
    """
    text, positions = _with_markers(sentences)
    none = np.zeros(vocab_size, np.int32)
    words = np.arange(vocab_size, dtype=np.int32)[:, None]
    yield NGramCounts(words, none, none, np.bincount(text[positions], minlength=vocab_size))

    # rows[i]: the row of the n-gram that ends at position i; `positions`: where an n-gram within its sentence ends.
    rows = text
    for _ in range(1, order):
        contexts, last = rows[positions - 1], text[positions]
        ids, first, occurrences = kernels.rank_pairs(contexts, last, threads)
        contexts = contexts[first]
        words = np.concatenate([words[contexts], last[first, None]], axis=1)
        yield NGramCounts(words, contexts, rows[positions[first]], occurrences)
        rows = np.zeros(len(text), np.int32)
        rows[positions] = ids
        # A longer n-gram ends where one of this order ends at the word before: not at the first of the sentence.
        reachable = np.zeros(len(text) + 1, bool)
        reachable[positions + 1] = True
        positions = positions[reachable[positions]]


def _with_markers(sentences: Ragged[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return all sentences with `<s>` and `</s>` in one array, and the positions that do not hold `<s>`."""
    lengths = sentences.lengths + 2
    starts = np.cumsum(lengths) - lengths
    text = np.empty(lengths.sum(), np.int32)
    is_word = np.ones(len(text), bool)
    is_word[starts] = is_word[starts + lengths - 1] = False
    text[is_word] = sentences.values
    text[starts], text[starts + lengths - 1] = BOS, EOS
    return text, np.flatnonzero(text != BOS)
