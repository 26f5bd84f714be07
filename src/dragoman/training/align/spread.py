"""Alignment that is spread over workers: passes of EM by ranges of generated words, or each direction as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext
from dragoman.core.progress import Remembered, ShareDone
from dragoman.core.ragged import Ragged
from dragoman.training.align.cooccurrence import Cooccurrence

if TYPE_CHECKING:
    from dragoman.training.align.base import DirectionalAligner


#: Sentence and position of each generated token, grouped by word, and where each word's begin.
Tokens = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]

_NOTHING, _NO_LINKS = np.empty(0), np.empty(0, np.int32)


@dataclass(frozen=True, eq=False)
class RangeAsked:
    """What is to be done with the pairs of range `number`, which have these probabilities.

    A pass of EM, or if it is the `last`, the choice of links.
    """

    number: int
    probabilities: NDArray[np.float64]
    null_probability: float
    tension: float | None
    last: bool = False
    as_fast_align: bool = False
    wants_linked: bool = False


@dataclass(frozen=True, eq=False)
class RangeFound:
    """Counts of the pairs, the feature of each word and each token's posterior of a link; or in the end its link."""

    counts: NDArray[np.float64]
    features: NDArray[np.float64]
    linked: NDArray[np.float64]
    links: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RangeWork:
    """What a worker does: the text it gets once, and the pairs of a range it finds when it first gets the range."""

    given: Ragged[np.int32]
    generated: Ragged[np.int32]
    null_word: int
    types: int
    ranges: tuple[slice, ...]

    @cached_property
    def _tokens(self) -> Tokens:
        return kernels.group_tokens(self.generated.values, self.generated.offsets, self.given.offsets, self.types)

    @cached_property
    def _tables(self) -> dict[int, Cooccurrence]:
        return {}

    def __call__(self, asked: RangeAsked) -> RangeFound:
        """Do what is asked."""
        number = asked.number
        if number not in self._tables:
            self._tables[number] = range_table(
                self.given, self.generated, self._tokens, self.ranges[number], self.null_word
            )
        return on_range(self._tables[number], asked)


def range_table(
    given: Ragged[np.int32], generated: Ragged[np.int32], tokens: Tokens, words: slice, null_word: int, threads: int = 1
) -> Cooccurrence:
    """The tokens and pairs of some generated words."""
    sentences, positions, groups = tokens
    at = slice(int(groups[words.start]), int(groups[words.stop]))
    some = sentences[at], positions[at], groups[words.start : words.stop + 1] - at.start
    pairs = kernels.cooccurring_words(given.values, given.offsets, some[0], some[2], null_word, threads)
    return Cooccurrence(
        given=given,
        generated=generated,
        token_sentences=some[0],
        token_positions=some[1],
        token_groups=some[2],
        pair_offsets=pairs[0],
        pair_given=pairs[1],
        null_word=null_word,
    )


def on_range(table: Cooccurrence, asked: RangeAsked, *, threads: int = 1, share: ShareDone | None = None) -> RangeFound:
    """Do what is asked with the pairs of a range."""
    settings = asked.probabilities, asked.null_probability, asked.tension, threads, share
    if asked.last:
        links = kernels.likeliest_given(table.for_kernels(), *settings)[token_places(table)]
        return RangeFound(_NOTHING, _NOTHING, _NOTHING, links)
    counts, _, features, linked = kernels.expected_counts(
        table.for_kernels(), *settings, asked.as_fast_align, asked.wants_linked
    )
    return RangeFound(counts, features, linked[token_places(table)] if asked.wants_linked else _NOTHING, _NO_LINKS)


def token_places(table: Cooccurrence) -> NDArray[np.int64]:
    """Where the tokens of a table stand among all generated tokens."""
    return table.generated.offsets[table.token_sentences] + table.token_positions


@dataclass(frozen=True, eq=False)
class OneDirection:
    """Aligns a whole direction, by aligners whose passes need all that there is."""

    aligner: DirectionalAligner
    bitext: Bitext

    def __call__(self, backwards: bool) -> tuple[NDArray[np.int32], Remembered]:
        """The given position of each generated token, and what the aligner had to say."""
        progress = Remembered()
        sides = (self.bitext.target, self.bitext.source) if backwards else (self.bitext.source, self.bitext.target)
        return self.aligner.one_direction(*sides, progress=progress, share=lambda done: None), progress
