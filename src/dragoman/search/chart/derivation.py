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
    """Describe the one derivation of a graph: text, phrases that glue joined, and the tree."""
    builder = _Builder(batch, graph)
    words = builder.yields(len(graph.spans) - 1)
    tree = builder.subtree(len(graph.spans) - 1, 0)
    parts = _parts(tree)
    phrases = tuple(Phrase(part.source, part.target, part.all_links(), part.unknown) for part in parts)
    return Translation(source, batch.rules.vocab.text(words) if len(words) else "", score, phrases, features, tree)


def _parts(tree: Subtree) -> list[Subtree]:
    """What glue joined, from left to right."""
    parts: list[Subtree] = []
    while tree.glue and tree.children:
        parts += tree.children[1:]
        tree = tree.children[0]
    return [*([] if tree.glue else [tree]), *reversed(parts)]


class _Builder:
    """Walks one derivation; nodes are in topological order and have one edge each."""

    def __init__(self, batch: ChartBatch, graph: SentenceGraph):
        self._batch = batch
        self._graph = graph
        self._yields: list[NDArray[np.int32]] = []
        self._targets: list[list[int]] = []
        for edge, rule in enumerate(graph.rules.tolist()):
            tails = [tail for tail in graph.tails[edge].tolist() if tail >= 0]
            symbols = batch.rules.words[rule].tolist() if rule >= 0 else [-1 - k for k in range(len(tails))]
            parts: list[NDArray[np.int32]] = []
            starts = [0] * len(symbols)
            at = 0
            for i, symbol in enumerate(symbols):
                starts[i] = at
                part = np.array([symbol], np.int32) if symbol >= 0 else self._yields[tails[-1 - symbol]]
                parts.append(part)
                at += len(part)
            self._yields.append(np.concatenate([np.empty(0, np.int32), *parts]))
            self._targets.append(starts)

    def yields(self, node: int) -> NDArray[np.int32]:
        """The target words below a node."""
        return self._yields[node]

    def subtree(self, node: int, first: int) -> Subtree:
        """Build the tree below a node whose words begin at `first`; the goal is left out."""
        graph, rules = self._graph, self._batch.rules
        rule, tails = int(graph.rules[node]), [tail for tail in graph.tails[node].tolist() if tail >= 0]
        if rule < 0 and len(tails) == 1:
            return self.subtree(tails[0], first)
        starts = self._targets[node]
        symbols = rules.words[rule].tolist() if rule >= 0 else [-1 - k for k in range(len(tails))]
        children = tuple(self.subtree(tail, first + starts[symbols.index(-1 - k)]) for k, tail in enumerate(tails))
        begin, end = graph.spans[node].tolist()
        return Subtree(
            source=(begin, end),
            target=(first, first + len(self._yields[node])),
            children=children,
            links=self._links(node, rule, first) if rule >= 0 else (),
            unknown=rule >= 0 and bool(rules.unknown[rule]),
            glue=rule < 0,
        )

    def _links(self, node: int, rule: int, first: int) -> tuple[tuple[int, int], ...]:
        rules, begin = self._batch.rules, int(self._graph.spans[node, 0])
        if rules.unknown[rule]:
            return ((begin, first),) if len(rules.words[rule]) else ()
        grammar = rules.grammars[rules.grammar[rule]] if rules.grammar[rule] >= 0 else None
        if grammar is None or grammar.alignments is None:
            return ()
        positions = _positions(rules.matches[self._graph.matches[node]].tolist())
        starts = self._targets[node]
        links = grammar.alignments[int(rules.row[rule])].tolist()
        return tuple((positions[link >> 8], first + starts[link & 255]) for link in links)


def _positions(match: list[int]) -> list[int]:
    """The place in the sentence of each symbol of a source side."""
    _, begin, end, *holes = match
    ends = dict(zip(holes[::2], holes[1::2], strict=True))
    positions, at = [], begin
    while at < end:
        positions.append(at)
        at = ends.get(at, at + 1)
    return positions
