"""Lattices of one sentence as evidence: which derivations they have, and whether merges and splits reach all.

The thesis (5.4) calls a phrase table well-behaved if every part of a phrase is a phrase. With others, there may be
segmentations of a sentence that no series of merges and splits leads to; tables 5.1 and 5.2 count such sentences.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.sampling.search_forest import Forest
from dragoman.search.phrase.batch import PhraseBatch, PhraseOutcome
from dragoman.search.phrase.lattice import Edges, hypergraph


class Lattice(Forest):
    """The lattice that a search kept of a sentence; scores are divided by a temperature.

    From a node, an option leads to at most one node: derivations, as options in target order (numbered within the
    sentence), are the words that an automaton accepts.
    """

    def __init__(self, batch: PhraseBatch, edges: Edges, graph: Hypergraph):
        super().__init__(graph, batch.model.dense_features)
        self.batch, self.edges = batch, edges

    @classmethod
    def of(cls, batch: PhraseBatch, found: PhraseOutcome, temperature: float = 1.0) -> Lattice:
        """Return the lattice of a batch of one sentence, after a search with `lattice`."""
        edges = Edges.of(batch, found, 0)
        graph = hypergraph(batch, found, 0, edges, features=False)
        return cls(batch, edges, graph.scaled(1 / temperature))

    def contains(self, derivations: Ragged[np.int32]) -> NDArray[np.bool_]:
        """Return whether each derivation is in the lattice; all take their steps together."""
        options = int(self.batch.options.offsets[1])
        steps = self.graph.tails[:, 0].astype(np.int64) * (options + 1) + self.edges.option + 1  # option -1 is step 0
        order = np.argsort(steps, kind="stable")
        ordered, heads = steps[order], self.graph.heads[order]
        node = np.zeros(len(derivations), np.int64)
        inside = np.ones(len(derivations), np.bool_)
        lengths = derivations.lengths
        for place in range(int(lengths.max(initial=0)) + 1):  # the last step of each leads into the goal
            rows = np.flatnonzero(inside & (lengths >= place))
            last = lengths[rows] == place
            chosen = np.full(len(rows), -1, np.int64)
            chosen[~last] = derivations.values[derivations.offsets[rows[~last]] + place]
            wanted = node[rows] * (options + 1) + chosen + 1
            found = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
            inside[rows] = ordered[found] == wanted
            node[rows] = heads[found]
        return inside

    def _edge_features(self, edges: NDArray[np.integer]) -> FeatureRows:
        return self.edges.take(edges).features(self.batch)

    def _derivations(self, rows: Ragged[np.int32]) -> Ragged[np.int32]:
        # Pre-order is the order from the goal to the start, and the edges at both ends have no option.
        backwards = self.edges.option[rows.values][::-1]
        offsets = np.concatenate([[0], np.cumsum(rows.lengths[::-1] - 2)]).astype(np.int64)
        return Ragged(backwards[backwards >= 0].astype(np.int32), offsets).take(np.arange(len(rows))[::-1])


#: Components are counted up to this number.
MOST_COMPONENTS = 1000


def segmentation_components(batch: PhraseBatch, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
    """Return the number of connected parts of each sentence's segmentation graph, at most 1000; 1 is best.

    A segmentation is a path over the positions between words. A merge or split replaces two of its edges by the one
    that closes the triangle, or one by two. The parts of paths to each position arise in turn from the parts of paths
    to earlier positions: O(words · longest phrase²) for each part.
    """
    options = batch.options
    lengths = options.source.sentences.lengths.astype(np.int32)
    return kernels.segmentation_components(
        lengths, options.offsets, options.begin, options.end, MOST_COMPONENTS, runtime.threads
    )
