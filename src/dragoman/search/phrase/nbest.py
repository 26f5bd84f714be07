"""The best hypotheses of a batch of sentences."""

from __future__ import annotations

import numpy as np

from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.forest.derivation import segmentations, yields
from dragoman.forest.kbest import kbest_many
from dragoman.search.phrase.batch import Batch, Found
from dragoman.search.phrase.lattice import Edges, hypergraph


def nbest(batch: Batch, found: Found, k: int, *, distinct: bool = False, threads: int = 1) -> NBest:
    """Return the k best hypotheses of each sentence; `found` must come from a search with `lattice`.

    Features are computed for the edges in these hypotheses only, a small part of the lattices.
    """
    lattices = [Edges.of(batch, found, i) for i in range(len(found.outcomes))]
    graphs = [hypergraph(batch, found, i, edges, features=False) for i, edges in enumerate(lattices)]
    lists = kbest_many(graphs, k, distinct=distinct, threads=threads)
    edges, rows, first = [], [], 0
    for lattice, best in zip(lattices, lists, strict=True):
        used, numbers = np.unique(best.derivations.values, return_inverse=True)
        edges.append(lattice.take(used))
        rows.append(Ragged((numbers + first).astype(np.int32), best.derivations.offsets))
        first += len(used)
    pairs = list(zip(graphs, lists, strict=True))
    features = Edges.concatenate(edges).features(batch).sum_over(Ragged.concatenate(rows))
    return NBest(
        vocab=batch.options.vocab,
        sentences=np.cumsum([0, *map(len, lists)], dtype=np.int64),
        hypotheses=Ragged.concatenate([yields(graph, best.derivations) for graph, best in pairs]),
        scores=np.concatenate([best.scores for best in lists]),
        features=features,
        segmentations=Ragged.concatenate([segmentations(graph, best.derivations) for graph, best in pairs]),
    )
