"""What a chart kept of one sentence, as evidence: which derivations are in it, what it expects, exact probabilities.

They are numbered in their sentence, by match and then by rule within the match's source side, so that a derivation, a
row of edges in pre-order, has the same numbers in every batch.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.inside_outside import edge_posteriors
from dragoman.forest.kbest import kbest
from dragoman.sampling.forest import BestDerivations, Forest, weighted_features
from dragoman.search.chart.batch import FIRST, GLUE, GOAL, NOTHING, ChartBatch, ChartOutcome, Graphs
from dragoman.search.chart.graph import SentenceGraph, edge_features, hypergraph
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SearchLimits


def edge_numbers(batch: ChartBatch, matches: NDArray[np.int64], rules: NDArray[np.int32]) -> NDArray[np.int32]:
    """The number of each edge, given its match and rule in the batch."""
    chart = batch.rules
    counts = np.diff(chart.first_rule)[chart.matches[:, 0]]
    first = np.concatenate([[0], np.cumsum(counts)])
    sentence = np.searchsorted(chart.match_offsets, matches, side="right") - 1
    within = rules - chart.first_rule[chart.matches[matches, 0]]
    numbers: NDArray[np.int32] = (first[matches] - first[chart.match_offsets[sentence]] + within).astype(np.int32)
    return numbers


def best_derivations(batch: ChartBatch, found: ChartOutcome) -> Ragged[np.int32]:
    """What a search found best of each sentence; an empty row where there is nothing."""
    graphs, count = found.best, len(found.outcomes)
    used = np.flatnonzero(graphs.rules >= 0)
    sentence = np.repeat(np.arange(count), np.diff(graphs.edge_offsets))[used]
    # A part has a word more than what is inside it, so that this is pre-order. Each node has one edge.
    begin, end = graphs.spans[used].T
    order = np.lexsort((-end, begin, sentence))
    used, sentence = used[order], sentence[order]
    numbers = edge_numbers(batch, graphs.matches[used] + batch.rules.match_offsets[sentence], graphs.rules[used])
    return Ragged(numbers, np.searchsorted(sentence, np.arange(count + 1)).astype(np.int64))


#: Edges whose features are computed at once: they need some hundred bytes each.
_EDGES = 1 << 18

#: Translations that are forced at once.
_FORCED = 256


class ChartForest(Forest):
    """What a search kept of a sentence; scores are divided by a temperature.

    Derivations are edges of the forest without language models, see `edges.py`. Bottom up, such an edge leads from its
    tails to one node at most: which one, is a matter of the words.
    """

    def __init__(self, batch: ChartBatch, edges: SentenceGraph, temperature: float = 1.0):
        super().__init__(hypergraph(batch, edges, features=False).scaled(1 / temperature))
        self.batch, self.edges = batch, edges
        self._numbers = np.array(edges.rules)
        used = edges.rules >= 0
        self._numbers[used] = edge_numbers(batch, edges.matches[used], edges.rules[used])

    def expected_features(self) -> NDArray[np.float64]:
        """The expected features of a derivation, in the order of the model's names; some edges at a time."""
        posteriors = edge_posteriors(self.graph)
        names = self.batch.model.dense_features
        totals = np.zeros(len(names))
        for begin in range(0, self.graph.edges, _EDGES):
            part = slice(begin, begin + _EDGES)
            rows = edge_features(
                self.batch, self.edges.rules[part], self.edges.matches[part], self.edges.lm_scores[part]
            )
            totals += weighted_features(rows, posteriors[part], names)
        return totals

    def contains(self, derivations: Ragged[np.int32]) -> NDArray[np.bool_]:
        """Whether each derivation is in the forest."""
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

    def best(self, k: int) -> BestDerivations:
        """Return the k best derivations, or as many as there are, with their features."""
        found = kbest(self.graph, k)
        # Glue leans to the left, so that without it the pre-order is that of one part after the other.
        numbers = self._numbers[found.derivations.values]
        before = np.concatenate([[0], np.cumsum(numbers >= 0)])
        rows = Ragged(numbers[numbers >= 0], before[found.derivations.offsets])
        used, place = np.unique(found.derivations.values, return_inverse=True)
        features = edge_features(
            self.batch, self.edges.rules[used], self.edges.matches[used], self.edges.lm_scores[used]
        )
        summed = features.sum_over(Ragged(place.astype(np.int32), found.derivations.offsets))
        return BestDerivations(rows, found.scores, summed)


def _reaches(heads: dict[tuple[int, int, int], int], edges: list[int], arities: list[int]) -> bool:
    """Whether a derivation, edges in pre-order with the number of their tails, leads to the goal."""
    nodes: list[int] = []  # roots of what has been read, the last on the left
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


def translation_log_scores(
    translator: ChartTranslator,
    line: str,
    translations: Ragged[np.int32],
    *,
    temperature: float = 1.0,
    runtime: Runtime = Runtime(),
) -> NDArray[np.float64]:
    """For each translation of a sentence ln Σ exp(score / temperature) over all derivations that write it.

    The search is forced to write each of them; -inf where there is no derivation. Words are those of the vocabulary of
    the sentence's rules.
    """
    count = len(translations)
    sums = np.empty(count)
    copies = translator.batch([line] * min(_FORCED, count))
    for begin in range(0, count, _FORCED):
        # The last block is filled up with its last translation.
        rows = np.minimum(np.arange(begin, begin + min(_FORCED, count)), count - 1)
        limits = SearchLimits(algorithm="exhaustive")
        found = copies.search(limits, targets=translations.take(rows), forests=True, runtime=runtime)
        sums[rows] = _log_partitions(found, temperature)
    return sums


def _log_partitions(found: ChartOutcome, temperature: float) -> NDArray[np.float64]:
    """Log Z of each graph that a search kept; the graphs are put together so that one pass does for all."""
    graphs = found.every
    assert graphs is not None
    nodes, edges = graphs.node_offsets, graphs.edge_offsets
    reached = np.flatnonzero(np.diff(nodes) > 0)
    sums = np.full(len(found.outcomes), -np.inf)
    # Every graph has one more bound than nodes, the end of its edges.
    first = np.delete(graphs.first_edges, nodes[reached + 1] + np.arange(len(reached)))
    first = np.append(first + np.repeat(edges[:-1], np.diff(nodes)), edges[-1])
    shift = np.repeat(nodes[:-1], np.diff(edges))[:, None]
    tails = np.where(graphs.tails >= 0, graphs.tails + shift, -1).astype(np.int32)
    forest = kernels.Forest(first_edge=first, tails=tails, scores=graphs.scores / temperature)
    inside = kernels.forest_inside(forest, maximum=False)
    sums[reached] = inside[nodes[reached + 1] - 1]
    return sums


#: Edges whose features are computed at once: they need some hundred bytes each.
_EDGES_OF_SAMPLES = 1 << 16


@dataclass(frozen=True, eq=False)
class Spelled:
    """Derivations of a batch's `sentences`; `graphs` has each as a graph of its own.

    Rows of `parts` are the stretches of the source that glue joined: source begin and end, target begin and end.
    """

    batch: ChartBatch
    sentences: NDArray[np.int64]
    graphs: Graphs
    words: Ragged[np.int32]
    parts: Ragged[np.int32]

    @classmethod
    def of(cls, batch: ChartBatch, sentences: NDArray[np.int64], derivations: Ragged[np.int32]) -> Spelled:
        """Spell derivations, given as edges in pre-order."""
        out = kernels.chart_derivations(batch.arrays, sentences, derivations.for_kernels())
        words = Ragged(out.pop("words"), out.pop("word_offsets"))
        parts = Ragged(out.pop("parts"), out.pop("part_offsets"))
        # The kernel has no rows of no columns, which are those of a model without language models.
        out["lm_scores"] = out["lm_scores"].reshape(len(out["rules"]), len(batch.model.language_models))
        return cls(batch, sentences, Graphs(**out), words, parts)

    def features(self) -> FeatureRows:
        """The features of each derivation, some at a time."""
        graphs = self.graphs
        rows = [FeatureRows.zeros(0)]
        every = np.arange(_EDGES_OF_SAMPLES, int(graphs.edge_offsets[-1]), _EDGES_OF_SAMPLES)
        cuts = np.searchsorted(graphs.edge_offsets, every)
        for begin, end in itertools.pairwise(np.unique([0, *cuts.tolist(), len(self.sentences)]).tolist()):
            bounds = graphs.edge_offsets[begin : end + 1]
            edges = slice(int(bounds[0]), int(bounds[-1]))
            shift = np.repeat(self.batch.rules.match_offsets[self.sentences[begin:end]], np.diff(bounds))
            matches = np.where(graphs.matches[edges] < 0, -1, graphs.matches[edges] + shift)
            of_edges = edge_features(self.batch, graphs.rules[edges], matches, graphs.lm_scores[edges])
            size = int(bounds[-1] - bounds[0])
            rows.append(of_edges.sum_over(Ragged(np.arange(size, dtype=np.int32), bounds - bounds[0])))
        return FeatureRows.concatenate(rows)
