"""The k best derivations of hypergraphs, lazily (Huang & Chiang 2005, algorithm 3), and n-best lists of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import common_vocab
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.forest.batch import structure, texts

#: Candidates that a search for distinct strings visits at most.
_MAX_DERIVATIONS = 1_000_000


@dataclass(frozen=True, eq=False)
class KBest:
    """Derivations (edges in pre-order) and their scores, best first."""

    derivations: Ragged[np.int32]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.scores)


def kbest(graph: Hypergraph, k: int, *, distinct: bool = False, max_derivations: int = _MAX_DERIVATIONS) -> KBest:
    """Return the k best derivations of the root, best first, or as many as there are; ties are settled by edge numbers.

    With `distinct`, they are the best derivations of the k best different strings. Strings are then told apart at every
    node, because a derivation with a worse way to write the same string below it cannot be the best of any string.
    That visits more candidates than it returns; after `max_derivations` of them, over all nodes, it returns the list so
    far, which is still the beginning of the whole list.
    """
    return _kbest(structure(graph), texts(graph), graph.root, k, distinct, max_derivations)


def _kbest(
    forest: kernels.Forest, templates: kernels.Templates, root: int, k: int, distinct: bool, max_derivations: int
) -> KBest:
    if k < 1 or max_derivations < 1:
        raise UsageError(f"k is {k} and max_derivations {max_derivations}; expected at least 1")
    budget = max_derivations if distinct else np.iinfo(np.int64).max
    edges, offsets, scores = kernels.forest_kbest(
        forest, templates, root=root, k=k, distinct=distinct, max_derivations=int(budget)
    )
    return KBest(Ragged(edges, offsets), scores)


#: Returns the features of some edges of each hypergraph as one: those of the first, then those of the second, ...
EdgeFeatures = Callable[[Sequence[NDArray[np.integer]]], FeatureRows]


class _Hypotheses(NamedTuple):
    """The hypotheses of one hypergraph: the edges that they use, each as a row of these, their scores and texts."""

    edges: NDArray[np.integer]
    rows: Ragged[np.int32]
    scores: NDArray[np.float64]
    words: Ragged[np.int32]
    segmentations: Ragged[np.int32]


def nbest(
    graphs: Sequence[Hypergraph],
    k: int,
    *,
    distinct: bool = False,
    features: EdgeFeatures | None = None,
    runtime: Runtime = Runtime(),
) -> NBest:
    """Return the k best hypotheses of each hypergraph, with features and segmentations.

    A hypergraph without derivations has an empty list. `features` computes the
    features of the edges of these hypotheses only, a small part of all; by default the hypergraphs' own are taken.
    """

    def find(graph: Hypergraph, _: Runtime) -> _Hypotheses:
        forest, templates = structure(graph), texts(graph)
        best = _kbest(forest, templates, graph.root, k, distinct, _MAX_DERIVATIONS)
        derivations = best.derivations
        found = kernels.Rows(values=derivations.values, offsets=derivations.offsets)
        covered, offsets = kernels.forest_ranges(forest, templates, graph.spans, found)
        used, numbers = np.unique(derivations.values, return_inverse=True)
        return _Hypotheses(
            edges=used,
            rows=Ragged(numbers.astype(np.int32), derivations.offsets),
            scores=best.scores,
            words=Ragged(*kernels.forest_yields(forest, templates, found)),
            segmentations=Ragged(np.hstack([graph.spans[covered[:, 0]], covered[:, 1:]]), offsets),
        )

    lists = list(runtime.here().map(find, graphs, window=len(graphs)))
    vocab, maps = common_vocab([graph.vocab for graph in graphs])
    edges = [each.edges for each in lists]
    first = np.cumsum([0, *map(len, edges)])
    rows = [
        Ragged((each.rows.values + n).astype(np.int32), each.rows.offsets)
        for each, n in zip(lists, first, strict=False)
    ]
    of_edges = _own(graphs, edges) if features is None else features(edges)
    return NBest(
        vocab=vocab,
        sentences=np.cumsum([0, *(len(each.scores) for each in lists)], dtype=np.int64),
        hypotheses=Ragged.concatenate(
            [
                _NO_ROWS,
                *(Ragged(ids[each.words.values], each.words.offsets) for ids, each in zip(maps, lists, strict=True)),
            ]
        ),
        scores=np.concatenate([np.empty(0), *(each.scores for each in lists)]),
        features=of_edges.sum_over(Ragged.concatenate([_NO_ROWS, *rows])),
        segmentations=Ragged.concatenate([each.segmentations for each in lists] or [_NO_ROWS]),
    )


def _own(graphs: Sequence[Hypergraph], edges: Sequence[NDArray[np.integer]]) -> FeatureRows:
    """Return the hypergraphs' own features of some edges; none where they have none."""
    return FeatureRows.concatenate(
        [
            graph.features.take(used) if graph.features else FeatureRows.zeros(len(used))
            for graph, used in zip(graphs, edges, strict=True)
        ]
    )


_NO_ROWS: Ragged[np.int32] = Ragged(np.empty(0, np.int32), np.zeros(1, np.int64))
