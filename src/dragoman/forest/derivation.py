"""Derivations: edges of a hypergraph in pre-order, that is an edge, then the derivations of its tails, first to last.

Many derivations at once are the rows of a `Ragged[np.int32]`; the functions here take thousands of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.arrays import structure, texts


@dataclass(frozen=True, eq=False)
class Derivation:
    """One derivation: its edges in pre-order, and the sum of their scores."""

    edges: NDArray[np.int32]
    score: float

    def as_row(self) -> Ragged[np.int32]:
        """Return the one derivation as the functions on many take it."""
        return Ragged(self.edges, np.array([0, len(self.edges)]))


def yields(graph: Hypergraph, derivations: Ragged[np.int32]) -> Ragged[np.int32]:
    """The words that each derivation writes."""
    words, offsets = kernels.forest_yields(structure(graph), texts(graph), derivations.for_kernels())
    return Ragged(words, offsets)


def segmentations(graph: Hypergraph, derivations: Ragged[np.int32]) -> Ragged[np.int32]:
    """How each derivation covers source and target: a matrix for each, a row for each edge that writes words.

    The columns are source begin and end, target begin and end, and rows are in target order. What tails write inside
    the span of an edge is part of its row, so that a rule with all that fills its holes is one; edges that only join
    their tails, as glue does, have none.
    """
    edges, offsets = kernels.forest_ranges(structure(graph), texts(graph), graph.spans, derivations.for_kernels())
    return Ragged(np.hstack([graph.spans[edges[:, 0]], edges[:, 1:]]), offsets)


def derivation_scores(graph: Hypergraph, derivations: Ragged[np.int32]) -> NDArray[np.float64]:
    """The score of each derivation."""
    _check_edges(graph, derivations)
    rows = np.repeat(np.arange(len(derivations)), derivations.lengths)
    sums = np.bincount(rows, graph.scores[derivations.values], minlength=len(derivations))
    return sums.astype(np.float64, copy=False)


def derivation_features(graph: Hypergraph, derivations: Ragged[np.int32]) -> FeatureRows:
    """The features of each derivation: the sums over its edges, each feature once, in the order of names."""
    rows = graph.features
    if rows is None:
        raise UsageError("this hypergraph was made without features")
    _check_edges(graph, derivations)
    return rows.sum_over(derivations)


def _check_edges(graph: Hypergraph, derivations: Ragged[np.int32]) -> None:
    edges = derivations.values
    if len(edges) and not 0 <= int(edges.min()) <= int(edges.max()) < graph.edges:
        raise UsageError(f"a derivation has an edge outside 0 to {graph.edges - 1}")
