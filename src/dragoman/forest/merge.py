"""One hypergraph of several that are parts of the same search space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.forest.arrays import structure, texts
from dragoman.forest.batch import Batch
from dragoman.forest.prune import trim


def merge(graphs: Sequence[Hypergraph]) -> Hypergraph:
    """Return the derivations of hypergraphs of one sentence, each once, in as many nodes as are needed.

    They must come from searches of the same space, in which an edge's tails, what it writes and covers, and its
    features say what state its head is: then nodes that the same derivation leads to are the same state, whatever the
    search kept besides, and become one. A derivation may now begin as in one hypergraph and go on as in another: it is
    one of the space, too. What is in no derivation is left out.

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
        raise DataError("the hypergraphs are not of one search space, so that they cannot be merged") from None
    merged = joined.rebuilt(edges, first_edge, tails, root=root)
    templates, template_ids = np.unique(merged.template_ids, return_inverse=True)
    return replace(merged, template_ids=template_ids.astype(np.int32), templates=joined.templates.take(templates))
