"""The part of a hypergraph that writes one string."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.hypergraph import Hypergraph
from dragoman.forest.arrays import structure, texts
from dragoman.forest.prune import trim


def intersection(graph: Hypergraph, words: Sequence[int] | NDArray[np.int32]) -> Hypergraph | None:
    """Return a hypergraph of all derivations that write these words, and no others; None if there are none.

    A node is a node of the old hypergraph and the range of the string that it writes.
    """
    string = np.ascontiguousarray(words, np.int32)
    first_edge, tails, edges = kernels.forest_intersection(structure(graph), texts(graph), graph.root, string)
    if not len(edges):
        return None
    return trim(graph.rebuilt(edges, first_edge, tails, root=len(first_edge) - 2))
