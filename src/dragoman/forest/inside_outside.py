"""Sums over all derivations: inside and outside scores, posteriors, expectations, entropy.

All in log space; one pass up and one down the hypergraph, linear in its edges (Lari & Young 1990; for hypergraphs and
expectations Li & Eisner 2009).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.forest.batch import no_derivation, structure


def inside(graph: Hypergraph) -> NDArray[np.float64]:
    """Return for each node the logarithm of the sum of exp(score) over its derivations; -inf if it has none."""
    return kernels.forest_inside(structure(graph), maximum=False)


def outside(graph: Hypergraph, inside: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each node the log-sum over all contexts of it in derivations of the root; -inf if it has none."""
    _check_inside(graph, inside)
    return kernels.forest_outside(structure(graph), inside, graph.root, maximum=False)


def max_inside(graph: Hypergraph) -> NDArray[np.float64]:
    """Return for each node the score of its best derivation; -inf if it has none."""
    return kernels.forest_inside(structure(graph), maximum=True)


def max_outside(graph: Hypergraph, inside: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each node the best score of a context of it in a derivation of the root."""
    _check_inside(graph, inside)
    return kernels.forest_outside(structure(graph), inside, graph.root, maximum=True)


def edge_scores(graph: Hypergraph, inside: NDArray[np.float64], outside: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each edge the log-sum, or maximum, over its derivations: outside, score and inside of tails."""
    # A row of 0 at the end stands for tails that are not there.
    of_tails = np.append(inside, 0.0)[graph.tails].sum(axis=1)
    return np.asarray(outside[graph.heads] + graph.scores + of_tails)


def log_partition(graph: Hypergraph) -> float:
    """Return the logarithm of the sum of exp(score) over all derivations, log Z; -inf if there are none."""
    return float(inside(graph)[graph.root])


def edge_posteriors(graph: Hypergraph) -> NDArray[np.float64]:
    """Return the expected count of each edge in a derivation: its probability, unless one can use it twice."""
    up = inside(graph)
    total = float(up[graph.root])
    if total == -np.inf:
        raise no_derivation()
    return np.exp(edge_scores(graph, up, outside(graph, up)) - total)


def expectation(graph: Hypergraph, values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the expected sum over a derivation's edges of each edge's value, or row of values."""
    if len(values) != graph.edges:
        raise UsageError(f"there are {len(values)} values for {graph.edges} edges")
    return np.asarray(edge_posteriors(graph) @ values)


def expected_features(graph: Hypergraph) -> NDArray[np.float64]:
    """Return the expected features of a derivation, in the order of `graph.features.names`."""
    rows = graph.features
    if rows is None:
        raise UsageError("this hypergraph was made without features")
    posteriors = np.repeat(edge_posteriors(graph), np.diff(rows.offsets))
    totals = np.bincount(rows.ids, posteriors * rows.values, minlength=len(rows.names))
    return totals.astype(np.float64, copy=False)


def entropy(graph: Hypergraph) -> float:
    """Return the entropy of the distribution over derivations, in nats: log Z less the expected score."""
    return log_partition(graph) - float(expectation(graph, graph.scores))


def _check_inside(graph: Hypergraph, inside: NDArray[np.float64]) -> None:
    if inside.shape != (graph.nodes,):
        raise UsageError(f"there are {len(inside)} inside scores for {graph.nodes} nodes")
