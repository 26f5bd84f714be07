"""N-grams of the translations in a hypergraph: expected counts, and probabilities of occurring at all.

Both are exact. Nodes are first split by the words at their borders (`split_by_context`), so that every edge completes
known n-grams. Expected counts are then sums of edge posteriors (DeNero et al. 2010). The probability that a translation
has an n-gram follows from a recursion over the split hypergraph (see `posteriors`), which costs no more than the
approximation of Kumar et al. (2009), where one edge with the highest posterior stands for all occurrences on a path.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.batch import no_derivation, structure, texts
from dragoman.forest.inside_outside import edge_posteriors, log_partition


@dataclass(frozen=True, eq=False)
class NGramExpectations:
    """N-grams of all orders up to a maximum, in order of first occurrence, with a value for each."""

    ngrams: Ragged[np.int32]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ngrams)


@dataclass(frozen=True, eq=False)
class SplitHypergraph:
    """A hypergraph with the same derivations in which every edge completes the same n-grams in all of them.

    Node n stands for `nodes[n]` of the old hypergraph with certain border words, edge e for the old `edges[e]`.
    In every derivation, edge e completes the n-grams `ngrams[i]` for i in `occurrences[e]`: those with a word of the
    edge or of both its tails. An n-gram that is completed twice is listed twice.
    """

    graph: Hypergraph
    nodes: NDArray[np.int32]
    edges: NDArray[np.int32]
    ngrams: Ragged[np.int32]
    occurrences: Ragged[np.int32]

    def edge_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each edge the sum of the values of the n-grams that it completes."""
        edge = np.repeat(np.arange(self.graph.edges), self.occurrences.lengths)
        sums = np.bincount(edge, values[self.occurrences.values], minlength=self.graph.edges)
        return sums.astype(np.float64, copy=False)


def split_by_context(graph: Hypergraph, order: int = 4, max_edges: int = 20_000_000) -> SplitHypergraph:
    """Split nodes by their first and last `order - 1` words, as far as something can be written next to them.

    In a phrase lattice nothing is ever written to the left of a node, so that only last words count, and few nodes are
    split if a language model of that order built it. Hypergraphs of two tails can grow much, hence `max_edges`.
    What takes no part in a derivation of the root is left out.
    """
    if order < 1:
        raise UsageError(f"the order of n-grams is {order}; expected at least 1")
    try:
        first_edge, tails, nodes, edges, ids, offsets, words, bounds = kernels.forest_split(
            structure(graph), texts(graph), graph.root, order, max_edges
        )
    except kernels.LimitError:
        raise DataError(
            f"the hypergraph has more than {max_edges} edges when its nodes are split for {order}-grams",
            expected="a smaller or pruned hypergraph, or a lower order",
        ) from None
    if len(nodes) == 0:
        raise no_derivation()
    split = graph.rebuilt(edges, first_edge, tails, root=len(nodes) - 1)
    return SplitHypergraph(split, nodes, edges, Ragged(words, bounds), Ragged(ids, offsets))


def expected_counts(graph: Hypergraph, order: int = 4) -> NGramExpectations:
    """Return the expected count of each n-gram, up to the given order, in the translation."""
    return split_counts(split_by_context(replace(graph, features=None), order))


def split_counts(split: SplitHypergraph) -> NGramExpectations:
    """Return the expected counts of a hypergraph that is already split."""
    weights = np.repeat(edge_posteriors(split.graph), split.occurrences.lengths)
    counts = np.bincount(split.occurrences.values, weights, minlength=len(split.ngrams))
    return NGramExpectations(split.ngrams, counts.astype(np.float64, copy=False))


def posteriors(graph: Hypergraph, order: int = 4, *, runtime: Runtime = Runtime()) -> NGramExpectations:
    """Return the exact probability that the translation has each n-gram, up to the given order, at least once.

    Given a node of the split hypergraph, a derivation has the n-gram with probability
    sum over e of p(e | node) * (1 if e completes the n-gram, else 1 - (1 - a)(1 - b)), with a and b those of e's tails;
    for lattices this is the forward algorithm of de Gispert et al. (2013). Time: edges times n-grams.
    """
    split = split_by_context(replace(graph, features=None), order)
    return split_posteriors(split, runtime=runtime)


def split_posteriors(split: SplitHypergraph, *, runtime: Runtime = Runtime()) -> NGramExpectations:
    """Return the n-gram posteriors of a hypergraph that is already split."""
    if not np.isfinite(log_partition(split.graph)):
        raise no_derivation()
    with runtime.stage("n-gram posteriors") as progress_callback:
        values = kernels.forest_contains(
            structure(split.graph),
            root=split.graph.root,
            occurrences=split.occurrences.for_kernels(),
            ngrams=len(split.ngrams),
            threads=runtime.threads,
            progress=progress_callback,
        )
    return NGramExpectations(split.ngrams, values)
