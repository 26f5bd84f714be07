"""Derivations of hierarchical models: their numbers, words and features, and the forests that contain them.

A derivation is a row of edges in pre-order. Edges of the forest without language models are numbered within their
sentence, by match and then by rule within the match's source side, so that they have the same numbers in every batch.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.sampling.search_forest import Forest
from dragoman.sampling.space import DerivationText
from dragoman.search.chart.batch import FIRST, GLUE, GOAL, NOTHING, ChartBatch, ChartOutcome, Graphs
from dragoman.search.chart.graph import SentenceGraph, edge_features, hypergraph, joined_parts


def edge_numbers(batch: ChartBatch, matches: NDArray[np.int64], rules: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the number of each edge, given its match and rule in the batch."""
    chart = batch.rules
    counts = np.diff(chart.first_rule)[chart.matches[:, 0]]
    first = np.concatenate([[0], np.cumsum(counts)])
    sentence = np.searchsorted(chart.match_offsets, matches, side="right") - 1
    within = rules - chart.first_rule[chart.matches[matches, 0]]
    numbers: NDArray[np.int32] = (first[matches] - first[chart.match_offsets[sentence]] + within).astype(np.int32)
    return numbers


def best_derivations(batch: ChartBatch, found: ChartOutcome) -> Ragged[np.int32]:
    """Return the best derivation that a search found of each sentence; an empty row where it found none."""
    graphs, count = found.best, len(found.outcomes)
    used = np.flatnonzero(graphs.rules >= 0)
    sentence = np.repeat(np.arange(count), np.diff(graphs.edge_offsets))[used]
    # A part has a word more than what is inside it, so that this is pre-order. Each node has one edge.
    begin, end = graphs.spans[used].T
    order = np.lexsort((-end, begin, sentence))
    used, sentence = used[order], sentence[order]
    numbers = edge_numbers(batch, graphs.matches[used] + batch.rules.match_offsets[sentence], graphs.rules[used])
    return Ragged(numbers, np.searchsorted(sentence, np.arange(count + 1)).astype(np.int64))


class ChartForest(Forest):
    """The forest that a search kept of a sentence; scores are divided by a temperature.

    Bottom up, an edge of the forest without language models leads from its tails to at most one node: the words decide
    which one.
    """

    def __init__(self, batch: ChartBatch, edges: SentenceGraph, temperature: float = 1.0):
        super().__init__(hypergraph(batch, edges, features=False).scaled(1 / temperature), batch.model.dense_features)
        self.batch, self.edges = batch, edges
        self._numbers = np.array(edges.rules)
        used = edges.rules >= 0
        self._numbers[used] = edge_numbers(batch, edges.matches[used], edges.rules[used])

    def contains(self, derivations: Ragged[np.int32]) -> NDArray[np.bool_]:
        """Return whether each derivation is in the forest."""
        tails = self.graph.tails.tolist()
        heads = {
            (number, *tail): head
            for number, tail, head in zip(self._numbers.tolist(), tails, self.graph.heads.tolist(), strict=True)
        }
        chart = self.batch.rules
        counts = np.diff(chart.first_rule)[chart.matches[:, 0]]
        match = np.searchsorted(np.cumsum(counts), derivations.values, side="right")
        arity = (chart.matches[match, 3] >= 0) * 1 + (chart.matches[match, 5] >= 0)
        found = np.zeros(len(derivations), np.bool_)
        for i, (begin, end) in enumerate(zip(derivations.offsets[:-1], derivations.offsets[1:], strict=True)):
            found[i] = _reaches(heads, derivations.values[begin:end].tolist(), arity[begin:end].tolist())
        return found

    def _edge_features(self, edges: NDArray[np.integer]) -> FeatureRows:
        graph = self.edges
        columns = graph.rules[edges], graph.matches[edges], graph.lm_scores[edges], graph.parts[edges]
        return edge_features(self.batch, *columns)

    def _derivations(self, rows: Ragged[np.int32]) -> Ragged[np.int32]:
        # Glue leans to the left, so that without it the pre-order is one part after the other.
        numbers = self._numbers[rows.values]
        before = np.concatenate([[0], np.cumsum(numbers >= 0)])
        return Ragged(numbers[numbers >= 0], before[rows.offsets])


def _reaches(heads: dict[tuple[int, int, int], int], edges: list[int], arities: list[int]) -> bool:
    """Return whether a derivation, edges in pre-order with the number of their tails, leads to the goal."""
    nodes: list[int] = []  # roots of the subtrees read so far, the leftmost last
    for edge, arity in zip(reversed(edges), reversed(arities), strict=True):
        first = nodes.pop() if arity > 0 else -1
        node = heads.get((edge, first, nodes.pop() if arity > 1 else -1))
        if node is None:
            return False
        nodes.append(node)
    glued = heads.get((NOTHING, -1, -1)) if not nodes else heads.get((FIRST, nodes.pop(), -1))
    while nodes and glued is not None:
        glued = heads.get((GLUE, glued, nodes.pop()))
    return glued is not None and (GOAL, glued, -1) in heads


#: Edges whose features are computed at once: they need some hundred bytes each.
_EDGES = 1 << 16


@dataclass(frozen=True, eq=False)
class ChartText(DerivationText):
    """Target words of derivations, each also as a graph of its own; a part is a stretch that glue joined."""

    batch: ChartBatch
    sentences: NDArray[np.int64]
    graphs: Graphs
    words: Ragged[np.int32]
    parts: Ragged[np.int32]

    @classmethod
    def of(cls, batch: ChartBatch, sentences: NDArray[np.int64], derivations: Ragged[np.int32]) -> ChartText:
        """Spell derivations of a batch's `sentences`."""
        out = kernels.chart_derivations(batch.arrays, sentences, derivations.for_kernels())
        words = Ragged(out.pop("words"), out.pop("word_offsets"))
        parts = Ragged(out.pop("parts"), out.pop("part_offsets"))
        # Without language models the rows have no columns, and the kernel gives no rows.
        out["lm_scores"] = out["lm_scores"].reshape(len(out["rules"]), len(batch.model.language_models))
        return cls(batch, sentences, Graphs(**out), words, parts)

    def features(self) -> FeatureRows:
        """Return the features of each derivation, computed for some at a time."""
        graphs = self.graphs
        rows = [FeatureRows.zeros(0)]
        every = np.arange(_EDGES, int(graphs.edge_offsets[-1]), _EDGES)
        cuts = np.searchsorted(graphs.edge_offsets, every)
        for begin, end in itertools.pairwise(np.unique([0, *cuts.tolist(), len(self.sentences)]).tolist()):
            bounds = graphs.edge_offsets[begin : end + 1]
            edges = slice(int(bounds[0]), int(bounds[-1]))
            shift = np.repeat(self.batch.rules.match_offsets[self.sentences[begin:end]], np.diff(bounds))
            matches = np.where(graphs.matches[edges] < 0, -1, graphs.matches[edges] + shift)
            words = self.batch.rules.source.sentences.offsets[self.sentences[begin:end]]
            # A node of a derivation has one edge, so that nodes are numbered as edges are.
            tails = graphs.spans[edges][graphs.tails[edges, 0] + np.repeat(bounds[:-1] - bounds[0], np.diff(bounds))]
            parts = joined_parts(graphs.rules[edges], graphs.spans[edges], tails, np.repeat(words, np.diff(bounds)))
            of_edges = edge_features(self.batch, graphs.rules[edges], matches, graphs.lm_scores[edges], parts)
            size = int(bounds[-1] - bounds[0])
            rows.append(of_edges.sum_over(Ragged(np.arange(size, dtype=np.int32), bounds - bounds[0])))
        return FeatureRows.concatenate(rows)
