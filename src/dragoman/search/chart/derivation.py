"""The best derivation of a sentence as a tree that people look at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.search.chart.batch import ChartBatch
from dragoman.search.chart.graph import SentenceGraph
from dragoman.search.translation import Phrase, Subtree, Translation


def describe(
    batch: ChartBatch, graph: SentenceGraph, source: str, score: float, features: dict[str, float]
) -> Translation:
    """Describe the one derivation of a graph: text, phrases that glue joined, and the tree; of none, nothing."""
    if not len(graph.spans):
        return Translation(source, "", score, (), {})
    builder = _Builder(batch, graph)
    words, tree = builder.words(), builder.tree()
    phrases = tuple(Phrase(part.source, part.target, part.all_links(), part.unknown) for part in tree.parts())
    return Translation(source, batch.rules.vocab.text(words) if len(words) else "", score, phrases, features, tree)


class _Builder:
    """Walks one derivation; nodes are in topological order, have one edge each, and the goal is the last."""

    def __init__(self, batch: ChartBatch, graph: SentenceGraph):
        self._batch = batch
        self._graph = graph
        self._tails = [[tail for tail in tails if tail >= 0] for tails in graph.tails.tolist()]
        self._yields: list[NDArray[np.int32]] = []
        #: Where the words of each symbol of an edge begin, counted from the first word below the edge.
        self._starts: list[list[int]] = []
        for edge in range(len(graph.rules)):
            parts: list[NDArray[np.int32]] = []
            starts, at = [], 0
            for symbol in self._symbols(edge):
                starts.append(at)
                part = np.array([symbol], np.int32) if symbol >= 0 else self._yields[self._tails[edge][-1 - symbol]]
                parts.append(part)
                at += len(part)
            self._yields.append(np.concatenate([np.empty(0, np.int32), *parts]))
            self._starts.append(starts)

    def words(self) -> NDArray[np.int32]:
        """The target words of the whole."""
        return self._yields[-1]

    def tree(self) -> Subtree:
        """Build the tree, without a recursion, as glue is as deep as sentences are long; the goal is left out."""
        first = [0] * len(self._yields)
        for node in range(len(first) - 1, -1, -1):
            symbols = self._symbols(node)
            for k, tail in enumerate(self._tails[node]):
                first[tail] = first[node] + self._starts[node][symbols.index(-1 - k)]
        trees: list[Subtree] = []
        for node, tails in enumerate(self._tails):
            children = tuple(trees[tail] for tail in tails)
            rule = int(self._graph.rules[node])
            if rule < 0 and len(tails) == 1:
                trees.append(children[0])
                continue
            begin, end = self._graph.spans[node].tolist()
            trees.append(
                Subtree(
                    source=(begin, end),
                    target=(first[node], first[node] + len(self._yields[node])),
                    children=children if rule >= 0 else tuple(part for child in children for part in child.parts()),
                    links=self._links(node, rule, first[node]) if rule >= 0 else (),
                    unknown=rule >= 0 and bool(self._batch.rules.unknown[rule]),
                    glue=rule < 0,
                )
            )
        return trees[-1]

    def _symbols(self, edge: int) -> list[int]:
        rule = int(self._graph.rules[edge])
        if rule < 0:
            return [-1 - k for k in range(len(self._tails[edge]))]
        symbols: list[int] = self._batch.rules.words[rule].tolist()
        return symbols

    def _links(self, node: int, rule: int, first: int) -> tuple[tuple[int, int], ...]:
        rules, begin = self._batch.rules, int(self._graph.spans[node, 0])
        if rules.unknown[rule]:
            return ((begin, first),) if len(rules.words[rule]) else ()
        grammar = rules.grammars[rules.grammar[rule]] if rules.grammar[rule] >= 0 else None
        if grammar is None or grammar.alignments is None:
            return ()
        positions = _positions(rules.matches[self._graph.matches[node]].tolist())
        links = grammar.alignments[int(rules.row[rule])].tolist()
        return tuple((positions[link >> 8], first + self._starts[node][link & 255]) for link in links)


def _positions(match: list[int]) -> list[int]:
    """The place in the sentence of each symbol of a source side."""
    _, begin, end, *holes = match
    ends = dict(zip(holes[::2], holes[1::2], strict=True))
    positions, at = [], begin
    while at < end:
        positions.append(at)
        at = ends.get(at, at + 1)
    return positions
