"""The best derivation of a sentence as a tree that people look at."""

from __future__ import annotations

import numpy as np

from dragoman.search.chart.batch import GOAL, ChartBatch
from dragoman.search.chart.graph import SentenceGraph
from dragoman.search.translation import Phrase, Subtree, Translation


def describe(
    batch: ChartBatch, graph: SentenceGraph, source: str, score: float, features: dict[str, float]
) -> Translation:
    """Describe the one derivation of a graph: text, phrases that glue joined, and the tree."""
    layout = _Layout(batch, graph)
    parts = layout.parts()
    phrases = tuple(Phrase(part.source, part.target, part.all_links(), part.unknown) for part in parts)
    whole = (0, int(graph.spans[-1, 1])), (0, len(layout.words))
    tree = parts[0] if len(parts) == 1 else Subtree(*whole, tuple(parts), (), unknown=False, glue=True)
    return Translation(source, batch.rules.vocab.text(layout.words), score, phrases, features, tree)


class _Layout:
    """Where the words of one derivation stand; nodes are in topological order, and have and are in one edge each.

    Nothing here is recursive: a derivation is as deep as a sentence is long.
    """

    def __init__(self, batch: ChartBatch, graph: SentenceGraph):
        self._batch = batch
        self._graph = graph
        self._tails = [[tail for tail in row if tail >= 0] for row in graph.tails.tolist()]
        self._lengths: list[int] = []
        self._starts: list[list[int]] = []  # of the symbols of each rule, from its first word on
        for edge in range(len(graph.rules)):
            starts = [0]
            for symbol in self._symbols(edge):
                length = 1 if symbol >= 0 else self._lengths[self._tails[edge][-1 - symbol]]
                starts.append(starts[-1] + length)
            self._lengths.append(starts.pop())
            self._starts.append(starts)
        self._first = [0] * len(self._lengths)
        self.words = np.empty(self._lengths[-1], np.int32)
        for edge in reversed(range(len(graph.rules))):
            for symbol, start in zip(self._symbols(edge), self._starts[edge], strict=True):
                if symbol >= 0:
                    self.words[self._first[edge] + start] = symbol
                else:
                    self._first[self._tails[edge][-1 - symbol]] = self._first[edge] + start

    def _symbols(self, edge: int) -> list[int]:
        rule = int(self._graph.rules[edge])
        symbols: list[int] = self._batch.rules.words[rule].tolist() if rule >= 0 else []
        return symbols if rule >= 0 else [-1 - k for k in range(len(self._tails[edge]))]

    def parts(self) -> list[Subtree]:
        """What glue joined, from left to right."""
        trees: list[Subtree | None] = []
        parts: list[Subtree] = []
        for edge, rule in enumerate(self._graph.rules.tolist()):
            tree = None
            tails = [trees[tail] for tail in self._tails[edge]]
            if rule >= 0:
                tree = self._subtree(edge, rule, tuple(tail for tail in tails if tail is not None))
            elif rule != GOAL:
                # The last tail of glue is a part; what may come before has been joined already.
                parts += [tail for tail in tails[-1:] if tail is not None]
            trees.append(tree)
        return parts

    def _subtree(self, edge: int, rule: int, children: tuple[Subtree, ...]) -> Subtree:
        begin, end = self._graph.spans[edge].tolist()
        first = self._first[edge]
        return Subtree(
            source=(begin, end),
            target=(first, first + self._lengths[edge]),
            children=children,
            links=self._links(edge, rule),
            unknown=bool(self._batch.rules.unknown[rule]),
        )

    def _links(self, edge: int, rule: int) -> tuple[tuple[int, int], ...]:
        rules, first = self._batch.rules, self._first[edge]
        if rules.unknown[rule]:
            return ((int(self._graph.spans[edge, 0]), first),) if len(rules.words[rule]) else ()
        grammar = rules.grammars[rules.grammar[rule]] if rules.grammar[rule] >= 0 else None
        if grammar is None or grammar.alignments is None:
            return ()
        positions = _positions(rules.matches[self._graph.matches[edge]].tolist())
        links = grammar.alignments[int(rules.row[rule])].tolist()
        return tuple((positions[link >> 8], first + self._starts[edge][link & 255]) for link in links)


def _positions(match: list[int]) -> list[int]:
    """The place in the sentence of each symbol of a source side."""
    _, begin, end, *holes = match
    ends = dict(zip(holes[::2], holes[1::2], strict=True))
    positions, at = [], begin
    while at < end:
        positions.append(at)
        at = ends.get(at, at + 1)
    return positions
