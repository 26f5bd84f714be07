"""The best derivation."""

from __future__ import annotations

from dragoman import kernels
from dragoman.core.hypergraph import Hypergraph
from dragoman.forest.arrays import no_derivation, structure
from dragoman.forest.derivation import Derivation


def best_derivation(graph: Hypergraph) -> Derivation:
    """Return the derivation of the root with the highest score; among equals, the one with the lowest edges."""
    edges, score = kernels.forest_best(structure(graph), graph.root)
    if len(edges) == 0:
        raise no_derivation()
    return Derivation(edges, score)
