"""The best derivation of a sentence as a tree."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.search.chart.batch import ChartBatch
from dragoman.search.chart.graph import SentenceGraph
from dragoman.search.translation import Phrase, Subtree, Translation


def describe(
    batch: ChartBatch,
    graph: SentenceGraph,
    source: str,
    score: float,
    features: dict[str, float],
    of_edges: FeatureRows | None = None,
) -> Translation:
    """Describe the one derivation of a graph: text, phrases that glue joined, and the tree; of none, nothing.

    `features` are those of the whole, `of_edges` those of each edge, if rules are to tell theirs.
    """
    if not len(graph.spans):
        return Translation(source, "", score, (), {})
    rows = [{}] * len(graph.rules) if of_edges is None else [of_edges.row(i) for i in range(len(graph.rules))]
    layout = _Layout(batch, graph, rows)
    parts = layout.parts()
    phrases = tuple(Phrase(part.source, part.target, part.all_links(), part.unknown) for part in parts)
    tree = Subtree(
        source=(0, int(graph.spans[-1, 1])),
        target=(0, len(layout.words)),
        children=tuple(parts),
        links=(),
        unknown=False,
        glue=True,
        features=_sum(row for row, rule in zip(rows, graph.rules.tolist(), strict=True) if rule < 0),
    )
    (text,) = Corpus(batch.rules.vocab, Ragged(layout.words, np.array([0, len(layout.words)]))).lines()
    return Translation(source, text, score, phrases, features, tree)


def _sum(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            total[name] = total.get(name, 0.0) + value
    return total


class _Layout:
    """Positions of the words of one derivation; nodes are in topological order, with one edge in and one edge out.

    Nothing here is recursive: a derivation is as deep as a sentence is long.
    """

    def __init__(self, batch: ChartBatch, graph: SentenceGraph, features: Sequence[Mapping[str, float]]):
        self._batch = batch
        self._graph = graph
        self._features = features
        self._tails = [[tail for tail in row if tail >= 0] for row in graph.tails.tolist()]
        self._symbols = self._symbols_of_edges()
        self._lengths: list[int] = []
        self._starts: list[list[int]] = []  # of the symbols of each rule, from its first word on
        for edge in range(len(graph.rules)):
            starts = [0]
            for symbol in self._symbols[edge]:
                length = 1 if symbol >= 0 else self._lengths[self._tails[edge][-1 - symbol]]
                starts.append(starts[-1] + length)
            self._lengths.append(starts.pop())
            self._starts.append(starts)
        self._first = [0] * len(self._lengths)
        self.words = np.empty(self._lengths[-1], np.int32)
        for edge in reversed(range(len(graph.rules))):
            for symbol, start in zip(self._symbols[edge], self._starts[edge], strict=True):
                if symbol >= 0:
                    self.words[self._first[edge] + start] = symbol
                else:
                    self._first[self._tails[edge][-1 - symbol]] = self._first[edge] + start

    def _symbols_of_edges(self) -> list[list[int]]:
        rules = self._graph.rules
        written = self._batch.rules.words.take(rules[rules >= 0])
        values = written.values.tolist()
        of_rules = (values[first:last] for first, last in itertools.pairwise(written.offsets.tolist()))
        return [
            next(of_rules) if rule >= 0 else [-1 - k for k in range(len(tails))]
            for rule, tails in zip(rules.tolist(), self._tails, strict=True)
        ]

    def parts(self) -> list[Subtree]:
        """Return the parts that glue joins, from left to right."""
        trees: list[Subtree | None] = []
        parts: list[Subtree] = []
        spans, unknown = self._graph.spans.tolist(), self._batch.rules.unknown
        for edge, rule in enumerate(self._graph.rules.tolist()):
            tree = None
            tails = [trees[tail] for tail in self._tails[edge]]
            if rule >= 0:
                first = self._first[edge]
                tree = Subtree(
                    source=(spans[edge][0], spans[edge][1]),
                    target=(first, first + self._lengths[edge]),
                    children=tuple(tail for tail in tails if tail is not None),
                    links=self._links(edge, rule),
                    unknown=bool(unknown[rule]),
                    features=self._features[edge],
                )
            else:
                # The last tail of glue, or of a goal without it, is a part; what comes before has been joined already.
                parts += [tail for tail in tails[-1:] if tail is not None]
            trees.append(tree)
        return parts

    def _links(self, edge: int, rule: int) -> tuple[tuple[int, int], ...]:
        rules, first = self._batch.rules, self._first[edge]
        if rules.unknown[rule] or rules.copied[rule] >= 0:
            return ((int(self._graph.spans[edge, 0]), first),) if self._symbols[edge] else ()
        grammar = rules.grammars[rules.grammar[rule]] if rules.grammar[rule] >= 0 else None
        if grammar is None or grammar.alignments is None:
            return ()
        positions = _positions(rules.matches[self._graph.matches[edge]].tolist())
        links = grammar.alignments[int(rules.row[rule])].tolist()
        return tuple((positions[link >> 8], first + self._starts[edge][link & 255]) for link in links)


def _positions(match: list[int]) -> list[int]:
    """Return the position in the sentence of each symbol of a source side."""
    _, begin, end, *holes = match
    ends = dict(zip(holes[::2], holes[1::2], strict=True))
    positions, at = [], begin
    while at < end:
        positions.append(at)
        at = ends.get(at, at + 1)
    return positions
