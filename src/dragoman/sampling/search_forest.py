"""Forests that a search kept of one sentence, as evidence beside samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.inside_outside import edge_posteriors, entropy, log_partition
from dragoman.forest.kbest import kbest

#: Edges whose features are computed at once: they need some hundred bytes each.
_EDGES = 1 << 18


@dataclass(frozen=True, eq=False)
class BestDerivations:
    """An n-best list of one sentence: derivations as samplers have them, scores (best first), features."""

    derivations: Ragged[np.int32]
    scores: NDArray[np.float64]
    features: FeatureRows

    def __len__(self) -> int:
        return len(self.scores)

    def expected_features(self, size: int, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the expected features over the first `size`, as if there were no other derivations."""
        scores = self.scores[:size]
        probabilities = np.exp(scores - np.logaddexp.reduce(scores))
        return weighted_features(self.features.take(np.arange(len(scores))), probabilities, names)


class Forest(ABC):
    """The derivations of a sentence in `graph`, with p(derivation) ∝ exp(score); `names` are the dense features."""

    def __init__(self, graph: Hypergraph, names: Sequence[str]):
        self.graph, self._names = graph, names

    @cached_property
    def log_partition(self) -> float:
        """The logarithm of the sum of exp(score) over all derivations."""
        return log_partition(self.graph)

    @cached_property
    def log_size(self) -> float:
        """The logarithm of the number of derivations, which may be too large for a number."""
        return log_partition(self.graph.scaled(0))

    @cached_property
    def entropy(self) -> float:
        """The entropy of the distribution over derivations, in nats."""
        return max(entropy(self.graph), 0.0)

    def expected_features(self) -> NDArray[np.float64]:
        """Return the expected dense features of a derivation, in the order of their names; some edges at a time."""
        posteriors = edge_posteriors(self.graph)
        totals = np.zeros(len(self._names))
        for begin in range(0, self.graph.edges, _EDGES):
            part = np.arange(begin, min(begin + _EDGES, self.graph.edges))
            totals += weighted_features(self._edge_features(part), posteriors[part], self._names)
        return totals

    def best(self, k: int) -> BestDerivations:
        """Return the k best derivations, or as many as there are, with their features."""
        found = kbest(self.graph, k)
        used, place = np.unique(found.derivations.values, return_inverse=True)
        features = self._edge_features(used).sum_over(Ragged(place.astype(np.int32), found.derivations.offsets))
        return BestDerivations(self._derivations(found.derivations), found.scores, features)

    @abstractmethod
    def contains(self, derivations: Ragged[np.int32]) -> NDArray[np.bool_]:
        """Return whether each derivation, as a sampler has it, is in the forest."""

    @abstractmethod
    def _edge_features(self, edges: NDArray[np.integer]) -> FeatureRows:
        """Return the features of some edges of the graph."""

    @abstractmethod
    def _derivations(self, rows: Ragged[np.int32]) -> Ragged[np.int32]:
        """Return derivations, given as edges of the graph in pre-order, as samplers have them."""


def weighted_features(
    rows: FeatureRows, probabilities: NDArray[np.float64], names: Sequence[str]
) -> NDArray[np.float64]:
    """Return the sum of rows of features, each times its probability, in the order of `names`; others are left out."""
    weights = np.repeat(probabilities, np.diff(rows.offsets))
    sums = np.bincount(rows.ids, weights * rows.values, minlength=len(rows.names))
    place = {name: i for i, name in enumerate(rows.names)}
    return np.array([sums[place[name]] if name in place else 0.0 for name in names])


def log_partitions(
    nodes: NDArray[np.int64],
    edges: NDArray[np.int64],
    first_edges: NDArray[np.int64],
    tails: NDArray[np.int32],
    scores: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return log Z of each of the graphs that a search kept; -inf where there is none.

    `nodes` and `edges` are their bounds. Every graph has one more of `first_edges` than nodes, the end of its edges.
    All graphs are joined, so that one pass computes all sums.
    """
    reached = np.flatnonzero(np.diff(nodes) > 0)
    first = np.delete(first_edges, nodes[reached + 1] + np.arange(len(reached)))
    first = np.append(first + np.repeat(edges[:-1], np.diff(nodes)), edges[-1])
    shift = np.repeat(nodes[:-1], np.diff(edges))[:, None]
    joined = np.where(tails >= 0, tails + shift, -1).astype(np.int32)
    inside = kernels.forest_inside(kernels.Forest(first_edge=first, tails=joined, scores=scores), maximum=False)
    sums = np.full(len(nodes) - 1, -np.inf)
    sums[reached] = inside[nodes[reached + 1] - 1]
    return sums
