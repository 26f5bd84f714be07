"""Hypergraphs of chart searches, with the features of every edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged, unique_ids
from dragoman.model.parts import phrase_features
from dragoman.search.chart.batch import FIRST, GLUE, GOAL, NOTHING, ChartBatch, Graphs
from dragoman.search.mixed_scores import pair_counts

#: What edges write that use no rule: `GOAL` and `FIRST` what their tail writes, `GLUE` its two, `NOTHING` nothing.
_TEMPLATES = Ragged.of([[], [-1], [-1, -2]], np.int32)
_TEMPLATE_OF = {NOTHING: 0, FIRST: 1, GOAL: 1, GLUE: 2}


@dataclass(frozen=True, eq=False)
class SentenceGraph:
    """The derivations of one sentence of a batch; matches are numbered in the batch.

    `parts` are what `joined_parts` returns.
    """

    spans: NDArray[np.int32]
    first_edges: NDArray[np.int64]
    tails: NDArray[np.int32]
    rules: NDArray[np.int32]
    matches: NDArray[np.int64]
    scores: NDArray[np.float64]
    lm_scores: NDArray[np.float64]
    parts: NDArray[np.int64]

    @classmethod
    def of(cls, batch: ChartBatch, graphs: Graphs, sentence: int) -> SentenceGraph:
        """Cut one sentence out of a batch; without a derivation, it has no nodes."""
        nodes = slice(*graphs.node_offsets[sentence : sentence + 2].tolist())
        edges = slice(*graphs.edge_offsets[sentence : sentence + 2].tolist())
        # Each graph has one more bound than nodes; sentences without a derivation have neither.
        before = int(np.count_nonzero(np.diff(graphs.node_offsets[: sentence + 1])))
        reached = nodes.stop > nodes.start
        matches = graphs.matches[edges].astype(np.int64)
        first_edges = np.zeros(1, np.int64)
        if reached:
            first_edges = graphs.first_edges[nodes.start + before : nodes.stop + before + 1]
        spans, tails, rules = graphs.spans[nodes], graphs.tails[edges], graphs.rules[edges]
        heads = np.repeat(np.arange(len(spans)), np.diff(first_edges))
        first_word = np.full(len(rules), batch.rules.source.sentences.offsets[sentence])
        return cls(
            spans=spans,
            first_edges=first_edges,
            tails=tails,
            rules=rules,
            matches=np.where(matches < 0, -1, matches + batch.rules.match_offsets[sentence]),
            scores=graphs.scores[edges],
            lm_scores=graphs.lm_scores[edges],
            parts=joined_parts(rules, spans[heads], spans[tails[:, 0]], first_word),
        )

    def only(self, edges: NDArray[np.integer]) -> SentenceGraph:
        """Return the graph of one derivation, given its edges in pre-order: a node has one edge, the goal is last."""
        order = edges[::-1]
        heads = np.repeat(np.arange(len(self.spans)), np.diff(self.first_edges))[order]
        place = np.full(len(self.spans) + 1, -1, np.int32)  # the last one is for tails that are not there
        place[heads] = np.arange(len(order))
        return SentenceGraph(
            spans=self.spans[heads],
            first_edges=np.arange(len(order) + 1),
            tails=place[self.tails[order]],
            rules=self.rules[order],
            matches=self.matches[order],
            scores=self.scores[order],
            lm_scores=self.lm_scores[order],
            parts=self.parts[order],
        )


def joined_parts(
    rules: NDArray[np.int32], heads: NDArray[np.int32], tails: NDArray[np.int32], first_word: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the part that each edge of glue joins: its last word, of all sentences in a row, and its number of words.

    Edges are given by their rules, the spans of their heads and first tails, and the first words of their sentences.
    Both numbers are 0 for other edges.
    """
    joins = (rules == FIRST) | (rules == GLUE)
    end = heads[:, 1].astype(np.int64)
    begin = np.where(rules == GLUE, tails[:, 1], 0)
    return np.where(joins[:, None], np.stack([first_word + end - 1, end - begin], axis=1), 0)


def edge_features(
    batch: ChartBatch,
    rules: NDArray[np.int32],
    matches: NDArray[np.int64],
    lm_scores: NDArray[np.float64],
    parts: NDArray[np.int64],
) -> FeatureRows:
    """Return features of edges, given their rules (or glue codes), matches, language model scores and joined parts."""
    names = batch.model.dense_features
    column = {name: i for i, name in enumerate(names)}
    used = rules >= 0
    dense = np.zeros((len(rules), len(names)))
    dense[used] = batch.rules.dense[rules[used]]
    dense[:, column["glue"]] = (rules == FIRST) | (rules == GLUE)
    for k, name in enumerate(batch.model.language_models):
        dense[:, column[name]] = lm_scores[:, k]
    every = [FeatureRows.from_dense(names, dense)]
    every += [_on_edges(rows, np.where(used, rules, -1)) for rows in batch.rule_rows]
    every += [_on_edges(rows, numbers) for rows, numbers in batch.rows_of_places(rules, matches, parts)]
    return FeatureRows.join(every)


def features_with_rules(
    batch: ChartBatch,
    rules: NDArray[np.int32],
    matches: NDArray[np.int64],
    lm_scores: NDArray[np.float64],
    parts: NDArray[np.int64],
) -> FeatureRows:
    """Return the features of edges, with the rules of mixed grammars in place of their scores."""
    rows = edge_features(batch, rules, matches, lm_scores, parts)
    left, counts = set(rows.names), list[FeatureRows]()
    # Glue, whose codes are negative, finds the -1 at the end.
    number, row = np.append(batch.rules.grammar, -1), np.append(batch.rules.row, -1)
    at = np.maximum(rules, -1)
    for i, (name, grammar) in enumerate(zip(batch.model.grammars, batch.rules.grammars, strict=True)):
        if grammar.components is not None:
            left -= set(phrase_features(name, grammar.score_names))
            counts.append(pair_counts(name, np.where(number[at] == i, row[at], -1)))
    return FeatureRows.join([rows.restricted([name for name in rows.names if name in left]), *counts])


def hypergraph(batch: ChartBatch, graph: SentenceGraph, *, features: bool = True) -> Hypergraph:
    """Return the derivations of one sentence; without any, it is a root and nothing else."""
    used, rule = unique_ids(np.maximum(graph.rules, 0), max(len(batch.rules), 1))
    others = np.zeros(-NOTHING + 1, np.int32)
    for kind, template in _TEMPLATE_OF.items():
        others[-kind] = template
    reached = len(graph.spans) > 0
    heads = np.repeat(np.arange(len(graph.spans)), np.diff(graph.first_edges))
    return Hypergraph(
        vocab=batch.rules.vocab,
        root=len(graph.spans) - 1 if reached else 0,
        first_edge=graph.first_edges if reached else np.zeros(2, np.int64),
        tails=graph.tails,
        template_ids=np.where(graph.rules >= 0, rule + len(_TEMPLATES), others[np.maximum(-graph.rules, 0)]).astype(
            np.int32
        ),
        templates=Ragged.concatenate([_TEMPLATES, batch.rules.words.take(used)]) if len(batch.rules) else _TEMPLATES,
        spans=graph.spans[heads],
        scores=graph.scores,
        features=edge_features(batch, graph.rules, graph.matches, graph.lm_scores, graph.parts) if features else None,
    )


def _on_edges(rows: FeatureRows, numbers: NDArray[np.integer]) -> FeatureRows:
    """Copy rows of rules or matches to edges; edges without one get empty rows."""
    empty = FeatureRows(rows.names, np.append(rows.offsets, rows.offsets[-1]), rows.ids, rows.values)
    return empty.take(np.where(numbers >= 0, numbers, len(rows))).used()
