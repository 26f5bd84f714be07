"""Passes of EM over the pairs of words that occur together, by ranges of generated words, on threads or workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.progress import LocalProgressCallback, ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime


@dataclass(frozen=True, eq=False, kw_only=True)
class Cooccurrence:
    """A bitext seen from one side: words of the `generated` corpus come from words of the `given` corpus or NULL.

    Each generated word has a row of pairs: NULL and the given words that occur with it, each once. Parameters and
    counts of a model are arrays that run parallel to `pair_given`. A table may have the tokens and pairs of some words
    only.
    """

    given: Ragged[np.int32]
    generated: Ragged[np.int32]
    token_sentences: NDArray[np.int32]  #: of each generated token, grouped by word
    token_positions: NDArray[np.int32]
    token_groups: NDArray[np.int64]  #: where the tokens of each generated word begin
    pair_offsets: NDArray[np.int64]  #: where the row of each generated word begins
    pair_given: NDArray[np.int32]  #: the given word of each pair
    null_word: int  #: the number of NULL, one past the given vocabulary

    @classmethod
    def of(cls, given: Corpus, generated: Corpus, *, runtime: Runtime = Runtime()) -> Cooccurrence:
        """Collect the pairs of a bitext.

        >>> table = Cooccurrence.of(Corpus.from_lines(["la maison", "la"]), Corpus.from_lines(["the house", "the"]))
        >>> table.pair_given.tolist(), table.pair_offsets.tolist()  # words 0 to 2 are special, 5 is NULL
        ([5, 3, 4, 5, 3, 4], [0, 0, 0, 0, 3, 6])
        """
        ours, theirs = given.sentences, generated.sentences
        null_word = len(given.vocab)
        sentences, positions, groups = kernels.group_tokens(
            theirs.values, theirs.offsets, ours.offsets, len(generated.vocab)
        )
        pair_offsets, pair_given = kernels.cooccurring_words(
            ours.values, ours.offsets, sentences, groups, null_word, runtime.threads
        )
        return cls(
            given=ours,
            generated=theirs,
            token_sentences=sentences,
            token_positions=positions,
            token_groups=groups,
            pair_offsets=pair_offsets,
            pair_given=pair_given,
            null_word=null_word,
        )

    def for_kernels(self) -> kernels.Cooccurrence:
        """Return the table as kernels take it."""
        sides = {"given": self.given.for_kernels(), "generated": self.generated.for_kernels()}
        return kernels.Cooccurrence(**{**vars(self), **sides})

    @property
    def tokens(self) -> int:
        """The number of generated tokens that have something to come from."""
        return len(self.token_sentences)

    def uniform(self) -> NDArray[np.float64]:
        """Translation probabilities that know nothing: the same for every generated word."""
        words = int(np.count_nonzero(np.diff(self.token_groups)))
        return np.full(len(self.pair_given), 1.0 / max(words, 1))


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
    progress_callback: ProgressCallback = LocalProgressCallback()


@dataclass(frozen=True, eq=False)
class RangeFound:
    """Counts of the pairs, the feature of each word and each token's posterior of a link; or in the end its link."""

    counts: NDArray[np.float64]
    features: NDArray[np.float64]
    linked: NDArray[np.float64]
    links: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RangeWork:
    """What is done with a range. A worker gets the text once, and finds the pairs of a range when it first gets it."""

    given: Ragged[np.int32]
    generated: Ragged[np.int32]
    null_word: int
    types: int
    ranges: tuple[slice, ...]
    #: By the number of a range what returns its pairs.
    tables: dict[int, Callable[[], Cooccurrence]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[RangeWork], tuple[Any, ...]]:
        return RangeWork, (self.given, self.generated, self.null_word, self.types, self.ranges)

    @cached_property
    def _tokens(self) -> Tokens:
        return kernels.group_tokens(self.generated.values, self.generated.offsets, self.given.offsets, self.types)

    def __call__(self, asked: RangeAsked, runtime: Runtime) -> RangeFound:
        """Do what is asked."""
        number = asked.number
        if number not in self.tables:
            text = self.given, self.generated, self._tokens
            made = range_table(*text, self.ranges[number], self.null_word, runtime=runtime)
            self.tables[number] = lambda: made
        table = self.tables[number]()
        settings = asked.probabilities, asked.null_probability, asked.tension, runtime.threads, asked.progress_callback
        if asked.last:
            links = kernels.likeliest_given(table.for_kernels(), *settings)[token_places(table)]
            return RangeFound(_NOTHING, _NOTHING, _NOTHING, links)
        counts, _, features, linked = kernels.expected_counts(
            table.for_kernels(), *settings, asked.as_fast_align, asked.wants_linked
        )
        return RangeFound(counts, features, linked[token_places(table)] if asked.wants_linked else _NOTHING, _NO_LINKS)


def range_table(
    given: Ragged[np.int32],
    generated: Ragged[np.int32],
    tokens: Tokens,
    words: slice,
    null_word: int,
    *,
    runtime: Runtime = Runtime(),
) -> Cooccurrence:
    """The tokens and pairs of some generated words."""
    sentences, positions, groups = tokens
    at = slice(int(groups[words.start]), int(groups[words.stop]))
    some = sentences[at], positions[at], groups[words.start : words.stop + 1] - at.start
    pairs = kernels.cooccurring_words(given.values, given.offsets, some[0], some[2], null_word, runtime.threads)
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


def token_places(table: Cooccurrence) -> NDArray[np.int64]:
    """Where the tokens of a table stand among all generated tokens."""
    return table.generated.offsets[table.token_sentences] + table.token_positions
