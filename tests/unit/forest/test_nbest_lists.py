from dataclasses import replace

import numpy as np

from dragoman.core.corpus import Vocab
from dragoman.core.feature_rows import FeatureRows
from dragoman.forest.derivation import derivation_features, segmentations, yields
from dragoman.forest.kbest import kbest, nbest
from oracles.forest import RandomHypergraphs

GRAPHS = [graph for graph, _ in RandomHypergraphs(40, seed=31, derivable=False)]


def test_lists_hold_the_best_hypotheses_of_each_hypergraph():
    lists = nbest(GRAPHS, 10, distinct=True)
    assert len(lists) == len(GRAPHS)
    for i, graph in enumerate(GRAPHS):
        ours, found = lists.list(i), kbest(graph, 10, distinct=True)
        assert len(ours) == 1
        assert ours.scores.tolist() == found.scores.tolist()
        words = yields(graph, found.derivations)
        assert [ours.line(h) for h in range(len(found))] == [graph.vocab.text(row) for row in words]
        assert ours.features.dense().tolist() == derivation_features(graph, found.derivations).dense().tolist()
        parts = segmentations(graph, found.derivations)
        assert [m.tolist() for m in ours.segmentations] == [m.tolist() for m in parts]


def test_vocabularies_and_features_of_different_hypergraphs_are_joined():
    graph = next(g for g in GRAPHS if len(kbest(g, 3)) == 3)
    # The same hypergraph in other words and with other names of features.
    other = replace(
        graph, vocab=Vocab.of(["x", "a", "y"]), features=replace(graph.features, names=("other", "lm", "more"))
    )
    plain = replace(graph, features=None)
    lists = nbest([graph, other, plain], 3)
    assert lists.features.names == ("lm", "tm", "rare", "other", "more")
    dense = lists.features.dense()
    assert dense[3:6, [3, 0, 4]].tolist() == dense[:3, :3].tolist()
    assert not dense[6:].any()
    renamed = {"a": "x", "b": "a", "c": "y"}
    for h in range(3):
        assert lists.line(3 + h).split() == [renamed[word] for word in lists.line(h).split()]
        assert lists.line(6 + h) == lists.line(h)


def test_no_hypergraphs_at_all():
    lists = nbest([], 5)
    assert (len(lists), len(lists.hypotheses), len(lists.features)) == (0, 0, 0)
    assert FeatureRows.concatenate([]).names == ()
    assert np.array_equal(FeatureRows.zeros(3).dense(), np.zeros((3, 0)))
