"""N-best lists from hypergraphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab
from dragoman.forest.derivation import derivation_features, segmentations, yields
from dragoman.forest.kbest import kbest_many


def nbest(
    graphs: Sequence[Hypergraph],
    k: int,
    *,
    distinct: bool = False,
    max_derivations: int = 1_000_000,
    threads: int = 1,
) -> NBest:
    """Return the k best hypotheses of each hypergraph, with features (where it has them) and segmentations.

    The options are those of `kbest`. A hypergraph without derivations has an empty list.
    """
    lists = kbest_many(graphs, k, distinct=distinct, max_derivations=max_derivations, threads=threads)
    vocab, maps = common_vocab(graphs)
    pairs = list(zip(graphs, lists, strict=True))
    words = [yields(graph, found.derivations) for graph, found in pairs]
    words = [Ragged(ids[row.values], row.offsets) for ids, row in zip(maps, words, strict=True)]
    features = [
        derivation_features(graph, found.derivations) if graph.features else FeatureRows.zeros(len(found))
        for graph, found in pairs
    ]
    return NBest(
        vocab=vocab,
        sentences=np.cumsum([0, *map(len, lists)], dtype=np.int64),
        hypotheses=Ragged.concatenate(words or [_NO_ROWS]),
        scores=np.concatenate([np.empty(0), *(found.scores for found in lists)]),
        features=FeatureRows.concatenate(features),
        segmentations=Ragged.concatenate(
            [segmentations(graph, found.derivations) for graph, found in pairs] or [_NO_ROWS]
        ),
    )


_NO_ROWS: Ragged[np.int32] = Ragged(np.empty(0, np.int32), np.zeros(1, np.int64))


def common_vocab(graphs: Sequence[Hypergraph]) -> tuple[Vocab, list[NDArray[np.int32]]]:
    """One vocabulary for all, and for each hypergraph the ids of its words in it."""
    vocab = graphs[0].vocab if graphs else Vocab.of()
    known = {id(vocab): np.arange(len(vocab), dtype=np.int32)}
    for graph in graphs:
        if id(graph.vocab) not in known:
            everything = np.arange(len(graph.vocab), dtype=np.int32)
            text = graph.vocab.decode(everything, np.array([0, len(everything)]))
            vocab, known[id(graph.vocab)], _ = vocab.extend(text)
    return vocab, [known[id(graph.vocab)] for graph in graphs]
