"""The best derivation of a sentence as a tree that people look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.search.chart.batch import ChartBatch
from dragoman.search.chart.graph import SentenceGraph
from dragoman.search.translation import Phrase, Subtree, Translation


def describe(
    batch: ChartBatch, graph: SentenceGraph, source: str, score: float, features: FeatureRows | None = None
) -> Translation:
    """Describe the one derivation of a graph: text, phrases that glue joined, and the tree; of none, nothing.

    `features` are those of its edges.
    """
    if not len(graph.spans):
        return Translation(source, "", score, (), {})
    edges = [{}] * len(graph.rules) if features is None else [features.row(i) for i in range(len(graph.rules))]
    builder = _Builder(batch, graph, edges)
    words, tree = builder.words(), builder.tree()
    return Translation(
        source=source,
        text=batch.rules.vocab.text(words) if len(words) else "",
        score=score,
        phrases=tuple(Phrase(part.source, part.target, part.all_links(), part.unknown) for part in tree.children),
        features={} if features is None else _total(features),
        tree=tree,
    )


def _total(features: FeatureRows) -> dict[str, float]:
    every = Ragged(np.arange(len(features), dtype=np.int32), np.array([0, len(features)]))
    return features.sum_over(every).row(0)


def _sum(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            total[name] = total.get(name, 0.0) + value
    return total


class _Builder:
    """Walks one derivation; nodes are in topological order, have one edge each, and the goal is the last."""

    def __init__(self, batch: ChartBatch, graph: SentenceGraph, features: Sequence[Mapping[str, float]]):
        self._batch = batch
        self._graph = graph
        self._features = features
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
        """Build the tree; glue, which is as deep as sentences are long, becomes one root with all parts below it."""
        first = [0] * len(self._yields)
        for node in range(len(first) - 1, -1, -1):
            symbols = self._symbols(node)
            for k, tail in enumerate(self._tails[node]):
                first[tail] = first[node] + self._starts[node][symbols.index(-1 - k)]
        trees: dict[int, Subtree] = {}
        for node, rule in enumerate(self._graph.rules.tolist()):
            if rule >= 0:
                begin, end = self._graph.spans[node].tolist()
                trees[node] = Subtree(
                    source=(begin, end),
                    target=(first[node], first[node] + len(self._yields[node])),
                    children=tuple(trees.pop(tail) for tail in self._tails[node]),
                    links=self._links(node, rule, first[node]),
                    unknown=bool(self._batch.rules.unknown[rule]),
                    features=self._features[node],
                )
        begin, end = self._graph.spans[-1].tolist()
        glue = [row for row, rule in zip(self._features, self._graph.rules.tolist(), strict=True) if rule < 0]
        return Subtree(
            source=(begin, end),
            target=(0, len(self._yields[-1])),
            children=tuple(sorted(trees.values(), key=lambda tree: tree.source)),
            links=(),
            unknown=False,
            glue=True,
            features=_sum(glue),
        )

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
