"""Sums over the derivations of many hypergraphs as functions of weights, with gradients (Li & Eisner 2009).

The score of an edge is the weighted sum of its features. What the expectation semirings of the paper carry from edge to
edge are vectors as long as there are features; here they stay at the edges, by inside and outside, so that time and
space are linear in edges and feature values, whatever the number of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import UsageError
from dragoman.core.runtime import Runtime
from dragoman.forest.batch import Batch
from dragoman.forest.ngrams import SplitHypergraph

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LogLinear:
    """Hypergraphs with features, ready for any weights. Results are the same for any number of threads."""

    edges: int
    features: int
    graphs: int
    arrays: kernels.FeatureForests

    @classmethod
    def of(cls, batch: Batch) -> LogLinear:
        """Take the hypergraphs of a batch without changes."""
        return cls._joined(batch, batch, np.arange(batch.joined.edges, dtype=np.int32))

    @classmethod
    def of_splits(cls, batch: Batch, splits: Sequence[SplitHypergraph]) -> LogLinear:
        """Take the splits of the hypergraphs of a batch; their edges follow one another.

        Features are those of the batch: they are not copied for each edge that a split made of one.
        """
        joined = Batch.of([replace(split.graph, features=None) for split in splits])
        first = batch.joined.first_edge[batch.nodes[:-1]].tolist()
        rows = np.concatenate([split.edges + shift for split, shift in zip(splits, first, strict=True)])
        return cls._joined(joined, batch, rows.astype(np.int32))

    @classmethod
    def _joined(cls, batch: Batch, original: Batch, rows: NDArray[np.int32]) -> LogLinear:
        graph, features = batch.joined, original.joined.features
        if features is None:
            raise UsageError("a hypergraph was made without features, so that its score is no function of weights")
        arrays = kernels.FeatureForests(
            nodes=np.ascontiguousarray(batch.nodes, np.int64),
            roots=np.ascontiguousarray(batch.roots, np.int64),
            first_edge=np.ascontiguousarray(graph.first_edge, np.int64),
            tails=np.ascontiguousarray(graph.tails, np.int32),
            rows=rows,
            row_bounds=np.ascontiguousarray(original.joined.first_edge[original.nodes], np.int64),
            features=features.for_kernels(),
        )
        return cls(graph.edges, len(features.names), len(batch.roots), arrays)

    def __len__(self) -> int:
        return self.graphs

    def at(self, weights: Vector, *, runtime: Runtime = Runtime()) -> Derivations:
        """Return the distribution over the derivations of each hypergraph under some weights."""
        if len(weights) != self.features:
            raise UsageError(f"there are {len(weights)} weights for {self.features} features")
        weights = np.ascontiguousarray(weights, np.float64)
        shares, totals = kernels.forest_log_shares(self.arrays, weights, runtime.threads)
        return Derivations(self, shares, totals, runtime)


@dataclass(frozen=True, eq=False)
class Derivations:
    """Distributions over derivations: `log_shares` has ln p(edge | head), `log_totals` log Z of each hypergraph."""

    forests: LogLinear
    log_shares: Vector
    log_totals: Vector
    runtime: Runtime

    def expected_sums(self, columns: Vector) -> Vector:
        """Return for each hypergraph (row) the expected sum over a derivation's edges of each column."""
        if columns.ndim != 2 or len(columns) != self.forests.edges:
            raise UsageError(f"there are columns of shape {columns.shape} for {self.forests.edges} edges")
        columns = np.ascontiguousarray(columns, np.float64)
        return kernels.forest_expected_sums(self.forests.arrays, self.log_shares, columns, self.runtime.threads)

    def expected_gains(self, gains: Vector, temperature: float = 0.0) -> tuple[Vector, Vector]:
        """Return E[Σ gains of edges] + temperature · entropy of each hypergraph, and the gradient of their sum.

        The gradient is the covariance of gain - temperature · ln p with the features.
        """
        if len(gains) != self.forests.edges:
            raise UsageError(f"there are {len(gains)} gains for {self.forests.edges} edges")
        gains = np.ascontiguousarray(gains, np.float64)
        features, arrays = self.forests.features, self.forests.arrays
        return kernels.forest_expected_gains(
            arrays, self.log_shares, gains, temperature, features, self.runtime.threads
        )

    def expected_features(self, factors: Vector) -> Vector:
        """Return the sum over hypergraphs of factor · expected features: the gradient of Σ factor · log Z."""
        if len(factors) != len(self.forests):
            raise UsageError(f"there are {len(factors)} factors for {len(self.forests)} hypergraphs")
        factors = np.ascontiguousarray(factors, np.float64)
        features, arrays = self.forests.features, self.forests.arrays
        return kernels.forest_expected_features(arrays, self.log_shares, factors, features, self.runtime.threads)
