"""Union, intersection and merging of hypergraphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.batch import Batch, structure, texts
from dragoman.forest.prune import trim


def union(graphs: Sequence[Hypergraph]) -> Hypergraph:
    """Join hypergraphs of one sentence under a new root, with an edge from each old root that scores 0.

    A derivation that several of them have occurs several times.
    """
    if len(graphs) == 1:
        return graphs[0]
    batch = Batch.of(graphs)
    joined, count = batch.joined, len(graphs)
    tails = np.stack([batch.roots, np.full(count, -1)], axis=1).astype(np.int32)
    features = joined.features
    return replace(
        joined,
        root=joined.nodes,
        first_edge=np.append(joined.first_edge, joined.edges + count),
        tails=np.concatenate([joined.tails, tails]),
        template_ids=np.append(joined.template_ids, np.full(count, len(joined.templates), np.int32)),
        templates=Ragged.concatenate([joined.templates, Ragged(np.array([-1], np.int32), np.array([0, 1]))]),
        spans=np.concatenate([joined.spans, np.zeros((count, 2), np.int32)]),
        scores=np.append(joined.scores, np.zeros(count)),
        features=None if features is None else FeatureRows.concatenate([features, FeatureRows.zeros(count)]),
    )


def intersection(graph: Hypergraph, words: Sequence[int] | NDArray[np.int32]) -> Hypergraph | None:
    """Return a hypergraph of all derivations that write these words, and no others; None if there are none.

    A node is a node of the old hypergraph and the range of the string that it writes.
    """
    string = np.ascontiguousarray(words, np.int32)
    first_edge, tails, edges = kernels.forest_intersection(structure(graph), texts(graph), graph.root, string)
    if not len(edges):
        return None
    return trim(graph.rebuilt(edges, first_edge, tails, root=len(first_edge) - 2))


def merge(graphs: Sequence[Hypergraph]) -> Hypergraph:
    """Return the derivations of hypergraphs of one sentence, each once, in as few nodes as possible.

    They must come from searches of the same space, in which an edge's tails, template, span and features determine the
    state of its head: then nodes with a common derivation are the same state, and become one. A derivation may then
    begin as in one hypergraph and continue as in another: it is in the space, too. Nodes and edges in no derivation
    are left out.

    The closure of equal nodes takes one or two passes over the edges in practice.
    """
    if len(graphs) == 1:
        return graphs[0]
    batch = Batch.of([trim(graph) if bool((graph.tails == graph.root).any()) else graph for graph in graphs])
    joined = batch.joined
    rows = FeatureRows.zeros(joined.edges) if joined.features is None else joined.features.summed()
    spans = np.ascontiguousarray(joined.spans, np.int32)
    labels = kernels.forest_labels(texts(joined), spans, rows.for_kernels())
    try:
        first_edge, tails, edges, root = kernels.forest_merge(structure(joined), labels, batch.roots)
    except kernels.CycleError:
        raise DataError("the hypergraphs are not of one search space, so they cannot be merged") from None
    merged = joined.rebuilt(edges, first_edge, tails, root=root)
    templates, template_ids = np.unique(merged.template_ids, return_inverse=True)
    return replace(merged, template_ids=template_ids.astype(np.int32), templates=joined.templates.take(templates))
