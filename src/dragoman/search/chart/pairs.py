"""The rules of a batch as features of phrase pairs see them: words only, holes left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab

if TYPE_CHECKING:
    from dragoman.search.chart.rules import ChartRules


@dataclass(frozen=True, eq=False)
class RulePairs:
    """Satisfies `PairsInUse`: a row for each rule, with links between the words that it has itself.

    Columns are made when a feature asks for them.
    """

    rules: ChartRules

    @cached_property
    def source_words(self) -> Ragged[np.int32]:
        """The source words of each rule, which are those below the first match of its side, in ids of the model."""
        return self._sides[0].take(self.rules.side)

    @cached_property
    def words(self) -> Ragged[np.int32]:
        """The target words of each rule."""
        symbols = self.rules.words
        return Ragged(symbols.values[symbols.values >= 0], self._before[symbols.offsets])

    @property
    def vocab(self) -> Vocab:
        """The words that ids of the target side stand for."""
        return self.rules.vocab

    @cached_property
    def links(self) -> Ragged[np.uint16]:
        """The links of each rule, numbered by words; none where they are not known."""
        return _links(self.rules, self._sides[1], self._before)

    @cached_property
    def linked(self) -> NDArray[np.bool_]:
        """Whether the links of a rule are known."""
        known = np.array([grammar.alignments is not None for grammar in self.rules.grammars] + [False])
        return known[self.rules.grammar]

    @cached_property
    def _sides(self) -> tuple[Ragged[np.int32], NDArray[np.int64]]:
        return _source_sides(self.rules)

    @cached_property
    def _before(self) -> NDArray[np.int64]:
        """How many words there are before each target symbol of all rules."""
        return np.concatenate([[0], np.cumsum(self.rules.words.values >= 0)])


def _source_sides(rules: ChartRules) -> tuple[Ragged[np.int32], NDArray[np.int64]]:
    """The words of each source side, and the symbols of it that are holes (none: beyond its end)."""
    side, first = np.unique(rules.matches[:, 0], return_index=True)
    begin, end, *holes = rules.matches[first, 1:].T.astype(np.int64)
    sentence = np.searchsorted(rules.match_offsets, first, side="right") - 1
    lengths = end - begin
    ends = np.cumsum(lengths)
    row = np.repeat(np.arange(len(first)), lengths)
    position = begin[row] + np.arange(len(row)) - (ends - lengths)[row]
    inside = np.zeros(len(row), bool)
    for left, right in zip(holes[::2], holes[1::2], strict=True):
        inside |= (position >= left[row]) & (position < right[row])
    ids = rules.source_ids[rules.source.sentences.offsets[sentence][row] + position]
    count = np.zeros(len(rules.first_rule) - 1, np.int64)
    count[side] = np.bincount(row[~inside], minlength=len(side))
    symbols = np.full((len(count), 2), np.iinfo(np.int32).max, np.int64)
    symbols[side, 0] = np.where(holes[0] < 0, symbols[side, 0], holes[0] - begin)
    symbols[side, 1] = np.where(holes[2] < 0, symbols[side, 1], holes[2] - begin - (holes[1] - holes[0] - 1))
    return Ragged(ids[~inside], np.concatenate([[0], np.cumsum(count)])), symbols


def _links(rules: ChartRules, holes: NDArray[np.int64], before: NDArray[np.int64]) -> Ragged[np.uint16]:
    """The links of each rule, numbered by words in place of symbols; none where they are not known."""
    parts: list[Ragged[np.uint16]] = []
    for number in [*range(len(rules.grammars)), -1]:
        rows = rules.row[rules.grammar == number]
        alignments = rules.grammars[number].alignments if number >= 0 else None
        parts.append(
            Ragged(np.empty(0, np.uint16), np.zeros(len(rows) + 1, np.int64))
            if alignments is None
            else alignments.take(rows)
        )
    # Rules stand in the order of their grammars, those that are in none last.
    links = Ragged.concatenate(parts)
    rule = np.repeat(np.arange(len(rules)), links.lengths)
    source, target = (links.values >> 8).astype(np.int64), (links.values & 255).astype(np.int64)
    source -= (source[:, None] > holes[rules.side[rule]]).sum(axis=1)
    first = rules.words.offsets[rule]
    target = before[first + target] - before[first]
    return Ragged((source * 256 + target).astype(np.uint16), links.offsets)
