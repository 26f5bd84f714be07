"""Instances of rules in an aligned text: which are looked for, and the columns that they are kept in."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.links import Links, aligned_rows, links_before
from dragoman.core.options import Options, option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime

#: What a count of one is in the integers that counts are kept in: sums of these do not depend on their order.
ONE = 1 << 36


#: The numbers of words below nonterminals that are told apart: 1, 2, .. and so many or more.
HOLE_SIZES = 10


@dataclass(frozen=True)
class RuleExtraction(Options):
    """Which rules are taken from an aligned text: by default those that Moses takes."""

    max_span: int = option(10, "longest initial phrase, in words, on either side", minimum=1, maximum=255)
    max_source_symbols: int = option(
        5, "most words and nonterminals on the source side of a rule", minimum=1, maximum=255
    )
    max_target_symbols: int = option(255, "the same of the target side", minimum=1, maximum=255)
    max_nonterminals: int = option(2, "most nonterminals of a rule", minimum=0, maximum=2)
    min_hole_source: int = option(
        2, "fewest source words that a nonterminal stands for (Chiang: 1)", minimum=1, maximum=255
    )
    min_hole_target: int = option(1, "the same for target words", minimum=1, maximum=255)
    min_words: int = option(1, "fewest words beside the nonterminals of a rule, on each side", minimum=1, maximum=255)
    adjacent_nonterminals: bool = option(False, "allow nonterminals side by side on the source side")
    linked_word: bool = option(True, "require a link between words of a rule")
    tight: bool = option(
        False, "initial phrases begin and end with linked words, as Chiang's do; Moses tries others too"
    )
    fractional_counts: bool = option(True, "the rules of an initial phrase pair share a count of one, or have one each")

    @property
    def limits(self) -> NDArray[np.int32]:
        """All of them as numbers, for kernels."""
        return np.array([int(getattr(self, field.name)) for field in fields(RuleExtraction)], np.int32)


@dataclass(frozen=True, eq=False)
class AlignedText:
    """A parallel text in words of two vocabularies, with links sorted by source and target position."""

    source: Ragged[np.int32]
    target: Ragged[np.int32]
    links: Links

    @cached_property
    def links_before(self) -> NDArray[np.int64]:
        """The number of links before each source word, and of all."""
        return links_before(self.source.offsets, self.links)

    def for_kernels(self) -> kernels.AlignedText:
        """Return the text as kernels take it that look at the links of words."""
        return aligned_rows(self.source, self.target, self.links, self.links_before)

    def pairs_for_kernels(self, most: int | None = None) -> kernels.AlignedText:
        """Return the sentence pairs, or the first so many, as kernels take them that look at no links of words."""
        rows = slice(None) if most is None else slice(0, most + 1)
        source = Ragged(self.source.values, self.source.offsets[rows])
        target = Ragged(self.target.values, self.target.offsets[rows])
        return aligned_rows(source, target, Ragged(self.links.values, self.links.offsets[rows]))


@dataclass(frozen=True, eq=False)
class RuleInstances:
    """Occurrences of rules in a bitext, sentence by sentence; within a sentence pair each rule with its links once.

    An instance is a span of words on each side (`begins`, then the first two columns of `spans`) with at most two holes
    in it, in the order of the source side: four columns each, offset and length on the source and on the target side.
    `counts` are multiples of 1 / `ONE`.
    """

    sentence: NDArray[np.int32]
    begins: NDArray[np.uint16]
    spans: NDArray[np.uint8]
    counts: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.sentence)

    def take(self, rows: NDArray[np.integer]) -> RuleInstances:
        """Return the given instances, in that order."""
        return RuleInstances(self.sentence[rows], self.begins[rows], self.spans[rows], self.counts[rows])

    def for_kernels(self) -> kernels.RuleInstances:
        """Return the columns as kernels take them."""
        return kernels.RuleInstances(**vars(self))


def hole_counts(
    text: AlignedText, options: RuleExtraction, *, sentences: int = 0, runtime: Runtime = Runtime()
) -> NDArray[np.float64]:
    """How often nonterminals of rules are reordered, by how many source words they stand for.

    The first row counts those that cross neither a link nor another nonterminal, the second row the others; columns are
    1, 2, .. and 10 or more words. Counts are those of rules as they are found, before equal ones are put together, in
    all sentence pairs or the first so many.
    """
    last = min(sentences, len(text.links)) if sentences else len(text.links)
    with runtime.stage("counting reordered nonterminals") as share:
        return kernels.count_hole_reordering(text.pairs_for_kernels(last), options.limits, runtime.threads, share)
