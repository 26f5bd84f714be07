"""The k best derivations, or strings, of a hypergraph: lazy and exact (Huang & Chiang 2005, algorithm 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.arrays import structure, texts


@dataclass(frozen=True, eq=False)
class KBest:
    """Derivations (edges in pre-order) and their scores, best first."""

    derivations: Ragged[np.int32]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.derivations)


def kbest(graph: Hypergraph, k: int, *, distinct: bool = False, max_derivations: int = 1_000_000) -> KBest:
    """Return the k best derivations of the root, best first, or as many as there are; ties are settled by edge numbers.

    With `distinct`, they are the best derivations of the k best different strings. Strings are then told apart at every
    node, because a derivation with a worse way to write the same string below it cannot be the best of any string.
    That looks at more candidates than it returns; after `max_derivations` of them, over all nodes, it returns
    what it has, which is still the beginning of the whole list.
    """
    if k < 1 or max_derivations < 1:
        raise UsageError(f"k is {k} and max_derivations {max_derivations}; expected at least 1")
    budget = max_derivations if distinct else np.iinfo(np.int64).max
    edges, offsets, scores = kernels.forest_kbest(
        structure(graph), texts(graph), root=graph.root, k=k, distinct=distinct, max_derivations=int(budget)
    )
    return KBest(Ragged(edges, offsets), scores)


def kbest_many(
    graphs: Sequence[Hypergraph],
    k: int,
    *,
    distinct: bool = False,
    max_derivations: int = 1_000_000,
    runtime: Runtime = Runtime(),
) -> list[KBest]:
    """Return the k best of each hypergraph; `max_derivations` is for each of them."""

    def find(graph: Hypergraph, _: Runtime) -> KBest:
        return kbest(graph, k, distinct=distinct, max_derivations=max_derivations)

    return list(runtime.here().map(find, graphs, window=len(graphs)))
