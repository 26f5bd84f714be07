"""Upper envelopes: the derivations that are best somewhere, when edges score a + t b (Macherey et al. 2008).

If the weights move along a line, every edge's score is a straight line in t, and so is every derivation's. The envelope
of a hypergraph has at most as many segments as a lattice has edges, however many derivations there are; for edges of
two tails see Kumar et al. (2009).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.batch import Batch, no_derivation, structure

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Envelope:
    """Derivation `i` scores `intercepts[i] + t * slopes[i]`, and is the best one from `breaks[i - 1]` to `breaks[i]`.

    Slopes rise; the first and the last segment have no end. Of equal derivations the one with the lowest edges is kept.
    """

    intercepts: Vector
    slopes: Vector
    derivations: Ragged[np.int32]

    def __len__(self) -> int:
        return len(self.slopes)

    @property
    def breaks(self) -> Vector:
        """The values of t at which the best derivation changes."""
        return -np.diff(self.intercepts) / np.diff(self.slopes) + 0.0


@dataclass(frozen=True, eq=False)
class Envelopes(Envelope):
    """Envelopes of several hypergraphs: segments `graphs[i]` to `graphs[i + 1]` are those of hypergraph `i`."""

    graphs: NDArray[np.int64]


def envelope(graph: Hypergraph, intercepts: Vector, slopes: Vector) -> Envelope:
    """Return the upper envelope of all derivations of the root, given intercept and slope of each edge."""
    batch = Batch(graph, np.array([0, graph.nodes]), np.array([graph.root]))
    found = envelopes(batch, intercepts, slopes)
    if len(found) == 0:
        raise no_derivation()
    return Envelope(found.intercepts, found.slopes, found.derivations)


def envelopes(batch: Batch, intercepts: Vector, slopes: Vector, *, runtime: Runtime = Runtime()) -> Envelopes:
    """Return the upper envelope of each hypergraph; one without derivations has no segments."""
    graph = batch.joined
    if len(intercepts) != graph.edges or len(slopes) != graph.edges:
        raise UsageError(f"there are {len(intercepts)} intercepts and {len(slopes)} slopes for {graph.edges} edges")
    try:
        with runtime.stage("envelopes") as progress_callback:
            graphs, found_intercepts, found_slopes, edges, offsets = kernels.forest_envelopes(
                structure(graph, intercepts),
                np.ascontiguousarray(slopes, np.float64),
                batch.nodes,
                batch.roots,
                threads=runtime.threads,
                progress=progress_callback,
            )
    except OverflowError:
        raise DataError("the scores of some derivations are too large to compute with") from None
    return Envelopes(found_intercepts, found_slopes, Ragged(edges, offsets), graphs)
