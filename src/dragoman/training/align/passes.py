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
    """Co-unique_ids words of a bitext in one direction: each `generated` word comes from a `given` word or NULL.

    Each generated word has a row of pairs: NULL and the given words that occur with it, each once. Parameters and
    counts of a model are arrays parallel to `pair_given`. A table may have the tokens and pairs of some words only.
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
        ours, theirs, types = given.sentences, generated.sentences, len(generated.vocab)
        tokens = kernels.group_tokens(theirs.values, theirs.offsets, ours.offsets, types)
        return range_table(ours, theirs, tokens, slice(0, types), len(given.vocab), runtime=runtime)

    def for_kernels(self) -> kernels.Cooccurrence:
        """Return the table as kernels take it."""
        sides = {"given": self.given.for_kernels(), "generated": self.generated.for_kernels()}
        return kernels.Cooccurrence(**{**vars(self), **sides})

    @property
    def tokens(self) -> int:
        """The number of generated tokens whose given sentence is not empty."""
        return len(self.token_sentences)

    def uniform(self) -> NDArray[np.float64]:
        """Return uniform translation probabilities: the same for every generated word."""
        words = int(np.count_nonzero(np.diff(self.token_groups)))
        return np.full(len(self.pair_given), 1.0 / max(words, 1))


#: Sentence and position of each generated token, grouped by word, and the offset of each word's tokens.
Tokens = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]

_NOTHING, _NO_LINKS = np.empty(0), np.empty(0, np.int32)


@dataclass(frozen=True, eq=False)
class RangeTask:
    """A task for the pairs of range `number`, which have these probabilities: a pass of EM, or as the `last`, links."""

    number: int
    probabilities: NDArray[np.float64]
    null_probability: float
    tension: float | None
    last: bool = False
    as_fast_align: bool = False
    wants_linked: bool = False
    progress_callback: ProgressCallback = LocalProgressCallback()


@dataclass(frozen=True, eq=False)
class RangeResult:
    """Counts of pairs, the feature of each word and each token's posterior of a link; or from the last task, links."""

    counts: NDArray[np.float64]
    features: NDArray[np.float64]
    linked: NDArray[np.float64]
    links: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RangeWork:
    """Work on a range. A worker gets the text once, and collects the pairs of a range at its first task."""

    given: Ragged[np.int32]
    generated: Ragged[np.int32]
    null_word: int
    types: int
    ranges: tuple[slice, ...]
    #: Functions that return the pairs of a range, by its number.
    tables: dict[int, Callable[[], Cooccurrence]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[RangeWork], tuple[Any, ...]]:
        return RangeWork, (self.given, self.generated, self.null_word, self.types, self.ranges)

    @cached_property
    def _tokens(self) -> Tokens:
        return kernels.group_tokens(self.generated.values, self.generated.offsets, self.given.offsets, self.types)

    def __call__(self, asked: RangeTask, runtime: Runtime) -> RangeResult:
        """Do a task."""
        number = asked.number
        if number not in self.tables:
            text = self.given, self.generated, self._tokens
            made = range_table(*text, self.ranges[number], self.null_word, runtime=runtime)
            self.tables[number] = lambda: made
        table = self.tables[number]()
        settings = asked.probabilities, asked.null_probability, asked.tension, runtime.threads, asked.progress_callback
        if asked.last:
            links = kernels.likeliest_given(table.for_kernels(), *settings)[token_places(table)]
            return RangeResult(_NOTHING, _NOTHING, _NOTHING, links)
        counts, _, features, linked = kernels.expected_counts(
            table.for_kernels(), *settings, asked.as_fast_align, asked.wants_linked
        )
        return RangeResult(counts, features, linked[token_places(table)] if asked.wants_linked else _NOTHING, _NO_LINKS)


def range_table(
    given: Ragged[np.int32],
    generated: Ragged[np.int32],
    tokens: Tokens,
    words: slice,
    null_word: int,
    *,
    runtime: Runtime = Runtime(),
) -> Cooccurrence:
    """Collect the tokens and pairs of some generated words."""
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
    """Return the places of the tokens of a table among all generated tokens."""
    return table.generated.offsets[table.token_sentences] + table.token_positions
