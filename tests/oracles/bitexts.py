"""Small random bitexts, as arrays for the kernels and as lists for the oracles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Corpus, Vocab
from dragoman.core.ragged import Ragged
from dragoman.training.align.passes import Cooccurrence


def random_corpus(rng: np.random.Generator, rows: int, longest: int, words: int, shortest: int = 0) -> Corpus:
    lengths = rng.integers(shortest, longest + 1, rows)
    vocab = Vocab.of(f"w{i}" for i in range(words))
    return Corpus(vocab, Ragged.of([rng.integers(3, 3 + words, n).tolist() for n in lengths], np.int32))


def random_bitext(rng: np.random.Generator, rows: int = 12, longest: int = 6, words: int = 5) -> Bitext:
    return Bitext(random_corpus(rng, rows, longest, words), random_corpus(rng, rows, longest, words + 1))


def sentence_lists(given: Corpus, generated: Corpus) -> list[tuple[list[int], list[int]]]:
    return [(a.tolist(), b.tolist()) for a, b in zip(given.sentences, generated.sentences, strict=True)]


def reestimated(
    table: Cooccurrence, counts: NDArray[np.float64], alpha: float | None, *, threads: int = 1
) -> NDArray[np.float64]:
    """p(generated | given) from counts by the kernels, as a table that is one range has it."""
    totals = kernels.given_totals(table.pair_given, counts, np.zeros(table.null_word + 1), alpha)
    return kernels.translation_probabilities(table.pair_given, counts, totals, alpha, threads)


@dataclass(frozen=True)
class Pairs:
    """The pairs of a table by name: (given word or None for NULL, generated word)."""

    table: Cooccurrence

    @property
    def keys(self) -> list[tuple[int | None, int]]:
        generated = np.repeat(np.arange(len(self.table.pair_offsets) - 1), np.diff(self.table.pair_offsets))
        null = self.table.null_word
        return [
            (None if e == null else e, f)
            for e, f in zip(self.table.pair_given.tolist(), generated.tolist(), strict=True)
        ]

    def to_dict(self, values: NDArray[np.float64]) -> dict[tuple[int | None, int], float]:
        return dict(zip(self.keys, values.tolist(), strict=True))

    def to_array(self, values: dict[tuple[int | None, int], float]) -> NDArray[np.float64]:
        return np.array([values[key] for key in self.keys])
