"""The rules of a batch as features of phrase pairs see them: words only, holes left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dragoman.core.ragged import Ragged

if TYPE_CHECKING:
    from dragoman.search.chart.rules import ChartRules


@dataclass(frozen=True, eq=False)
class RulePairs:
    """Satisfies `PairsInUse`: a row for each rule, with links between the words that it has itself."""

    source_words: Ragged[np.int32]
    words: Ragged[np.int32]
    links: Ragged[np.uint16]
    linked: NDArray[np.bool_]

    @classmethod
    def of(cls, rules: ChartRules) -> RulePairs:
        """Leave the holes out; source words are those below the first match of each side, in ids of the model."""
        sides, holes = _source_sides(rules)
        is_word = rules.words.values >= 0
        before = np.concatenate([[0], np.cumsum(is_word)])
        known = np.array([grammar.alignments is not None for grammar in rules.grammars] + [False])
        return cls(
            source_words=sides.take(rules.side),
            words=Ragged(rules.words.values[is_word], before[rules.words.offsets]),
            links=_links(rules, holes, before),
            linked=known[rules.grammar],
        )


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
