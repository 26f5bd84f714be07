"""Derivations of a hypergraph: the best, random samples, strings, features, segmentations, probabilities.

Many derivations at once are the rows of a `Ragged[np.int32]`; the functions here take thousands of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.batch import no_derivation, structure, texts
from dragoman.forest.inside_outside import log_partition


@dataclass(frozen=True, eq=False)
class Derivation:
    """One derivation: its edges in pre-order, and the sum of their scores."""

    edges: NDArray[np.int32]
    score: float

    def as_row(self) -> Ragged[np.int32]:
        """Return the derivation as one row, as functions on many derivations take it."""
        return Ragged(self.edges, np.array([0, len(self.edges)]))


def yields(graph: Hypergraph, derivations: Ragged[np.int32]) -> Ragged[np.int32]:
    """Return the words that each derivation writes."""
    words, offsets = kernels.forest_yields(structure(graph), texts(graph), derivations.for_kernels())
    return Ragged(words, offsets)


def segmentations(graph: Hypergraph, derivations: Ragged[np.int32]) -> Ragged[np.int32]:
    """Return the segmentation of each derivation: a matrix with a row for each edge that writes words.

    The columns are source begin and end, target begin and end, and rows are in target order. Words of tails inside the
    span of an edge are part of its row, so that a rule with all that fills its holes is one row; edges that only join
    their tails, as glue rules do, have none.
    """
    edges, offsets = kernels.forest_ranges(structure(graph), texts(graph), graph.spans, derivations.for_kernels())
    return Ragged(np.hstack([graph.spans[edges[:, 0]], edges[:, 1:]]), offsets)


def derivation_scores(graph: Hypergraph, derivations: Ragged[np.int32]) -> NDArray[np.float64]:
    """Return the score of each derivation."""
    _check_edges(graph, derivations)
    rows = np.repeat(np.arange(len(derivations)), derivations.lengths)
    sums = np.bincount(rows, graph.scores[derivations.values], minlength=len(derivations))
    return sums.astype(np.float64, copy=False)


def derivation_features(graph: Hypergraph, derivations: Ragged[np.int32]) -> FeatureRows:
    """Return the features of each derivation: sums over its edges, each feature once, in the order of names."""
    rows = graph.features
    if rows is None:
        raise UsageError("this hypergraph was made without features")
    _check_edges(graph, derivations)
    return rows.sum_over(derivations)


def _check_edges(graph: Hypergraph, derivations: Ragged[np.int32]) -> None:
    edges = derivations.values
    if len(edges) and not 0 <= int(edges.min()) <= int(edges.max()) < graph.edges:
        raise UsageError(f"a derivation has an edge outside 0 to {graph.edges - 1}")


def best_derivation(graph: Hypergraph) -> Derivation:
    """Return the derivation of the root with the highest score; among equals, the one with the lowest edges."""
    edges, score = kernels.forest_best(structure(graph), graph.root)
    if len(edges) == 0:
        raise no_derivation()
    return Derivation(edges, score)


def sample(
    graph: Hypergraph,
    n: int,
    rng: np.random.Generator | int,
    *,
    runtime: Runtime = Runtime(),
) -> Ragged[np.int32]:
    """Draw n independent derivations of the root, each with probability exp(score) / Z.

    From the root down, an edge is drawn for each node in proportion to its inside score. Draw i has its own stream of
    random numbers (SplitMix64), seeded by the seed and i: the first draws are the same for any larger n, and for any
    number of threads. `rng` is the seed, or a generator that draws one.
    """
    if n < 0:
        raise UsageError(f"{n} samples were asked for; expected 0 or more")
    seed = int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else rng
    if not 0 <= seed < 2**64:
        raise UsageError(f"the seed is {seed}; expected a number from 0 to 2^64 - 1")
    if not np.isfinite(log_partition(graph)):
        raise no_derivation()
    with runtime.stage("samples") as progress_callback:
        edges, offsets = kernels.forest_sample(
            structure(graph), root=graph.root, draws=n, seed=seed, threads=runtime.threads, progress=progress_callback
        )
    return Ragged(edges, offsets)


def translation_log_probability(graph: Hypergraph, words: Sequence[int] | NDArray[np.int32]) -> float:
    """Return the log-probability of a translation, over all its derivations; -inf if it has none.

    The hypergraph is intersected with the string: one item for each node and range of the string that it can write.
    """
    string = np.ascontiguousarray(words, np.int32)
    total = log_partition(graph)
    if total == -np.inf:
        raise no_derivation()
    return kernels.forest_string(structure(graph), texts(graph), graph.root, string) - total
