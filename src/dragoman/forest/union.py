"""One hypergraph of several: it has all their derivations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.batch import Batch


def union(graphs: Sequence[Hypergraph]) -> Hypergraph:
    """Join hypergraphs of one sentence under a new root, with an edge from each old root that scores 0.

    A derivation that several of them have is there as often.
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
