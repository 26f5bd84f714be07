"""Pruning of hypergraphs: edges in no derivation, and edges that only bad derivations use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.forest.derivation import best_derivation, yields
from dragoman.forest.inside_outside import edge_scores, max_inside, max_outside


def trim(graph: Hypergraph) -> Hypergraph:
    """Remove all nodes and edges that are in no derivation of the root, and templates that no edge uses.

    The root stays, even if it has no derivation.
    """
    return take_edges(graph, _max_marginals(graph) > -np.inf)


def prune_to_density(graph: Hypergraph, density: float) -> Hypergraph:
    """Keep the edges of the best derivations: at most `density` for each word of the best translation.

    The edges with the highest max-marginals (the score of the best derivation that uses them) stay, and the best
    derivation always does: forward-backward pruning (Sixtus & Ortmanns 1999), as for lattice MBR.
    """
    if not density > 0:
        raise UsageError(f"the density is {density}; expected more than 0")
    best = best_derivation(graph)
    words = max(1, len(yields(graph, best.as_row()).values))
    marginals = _max_marginals(graph)
    marginals[best.edges] = np.inf
    count = int(min(density * words, graph.edges))
    kept = marginals > -np.inf
    if count < graph.edges:
        last = np.partition(marginals, graph.edges - count)[graph.edges - count] if count else np.inf
        better = marginals > last
        # Of edges that are as good as the last one, the first ones stay.
        equal = np.flatnonzero(marginals == last)[: count - np.count_nonzero(better)]
        better[equal] = True
        kept &= better
    kept[best.edges] = True
    return trim(take_edges(graph, kept))


def prune_by_margin(graph: Hypergraph, margin: float) -> Hypergraph:
    """Keep the edges of derivations that score at most `margin` less than the best one."""
    if not margin >= 0:
        raise UsageError(f"the margin is {margin}; expected 0 or more")
    best = best_derivation(graph)
    kept = _max_marginals(graph) >= best.score - margin
    kept[best.edges] = True
    return trim(take_edges(graph, kept))


def _max_marginals(graph: Hypergraph) -> NDArray[np.float64]:
    up = max_inside(graph)
    return edge_scores(graph, up, max_outside(graph, up))


def take_edges(graph: Hypergraph, kept: NDArray[np.bool_]) -> Hypergraph:
    """Return the hypergraph of the given edges, the nodes that they join, and the root."""
    edges = np.flatnonzero(kept)
    tails = graph.tails[edges]
    used = np.zeros(graph.nodes + 1, np.bool_)
    used[graph.heads[edges]] = True
    used[tails] = True
    used[graph.root] = True
    used[-1] = False  # index -1, the mark of a missing tail
    numbers = np.append(np.cumsum(used[:-1]) - 1, -1).astype(np.int32)
    counts = np.bincount(numbers[graph.heads[edges]], minlength=int(used.sum()))
    templates, template_ids = np.unique(graph.template_ids[edges], return_inverse=True)
    return replace(
        graph,
        root=int(numbers[graph.root]),
        first_edge=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        tails=numbers[tails],
        template_ids=template_ids.astype(np.int32),
        templates=graph.templates.take(templates),
        spans=graph.spans[edges],
        scores=graph.scores[edges],
        features=None if graph.features is None else graph.features.take(edges),
    )
