"""Exact probabilities of single derivations and translations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.arrays import no_derivation, structure, texts
from dragoman.forest.derivation import derivation_scores
from dragoman.forest.inside_outside import log_partition


def derivation_log_probabilities(graph: Hypergraph, derivations: Ragged[np.int32]) -> NDArray[np.float64]:
    """The log-probability of each derivation of the root: its score less log Z."""
    return derivation_scores(graph, derivations) - _total(graph)


def translation_log_probability(graph: Hypergraph, words: Sequence[int] | NDArray[np.int32]) -> float:
    """The log-probability that the translation is these words, over all derivations; -inf if it has none of them.

    The hypergraph is intersected with the string: one item for each node and range of the string that it can write.
    """
    string = np.ascontiguousarray(words, np.int32)
    return kernels.forest_string(structure(graph), texts(graph), graph.root, string) - _total(graph)


def _total(graph: Hypergraph) -> float:
    total = log_partition(graph)
    if total == -np.inf:
        raise no_derivation()
    return total
