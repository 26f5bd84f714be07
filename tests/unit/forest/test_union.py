from dataclasses import replace

import pytest

from dragoman.forest.batch import Batch
from dragoman.forest.operations import union
from oracles.forest import RandomHypergraphs, derivations

CASES = RandomHypergraphs(60, seed=3)


def described(graph, listed):
    return sorted((d.score, d.words, graph.features.dense()[list(d.edges)].sum(axis=0).tolist()) for d in listed)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_union_has_the_derivations_of_all(count):
    for i in range(0, len(CASES) - count, count):
        parts = CASES[i : i + count]
        whole = union([graph for graph, _ in parts])
        whole.check()
        expected = sorted(row for graph, listed in parts for row in described(graph, listed))
        assert described(whole, derivations(whole)) == [
            (pytest.approx(score), words, pytest.approx(features)) for score, words, features in expected
        ]


def test_graphs_without_features_can_be_joined():
    pair = [replace(graph, features=None) for graph, _ in CASES[:2]]
    assert union(pair).features is None


def test_a_batch_gives_its_graphs_back():
    graphs = [graph for graph, _ in CASES]
    for graph, again in zip(graphs, Batch.of(graphs).graphs(), strict=True):
        again.check()
        assert described(again, derivations(again)) == described(graph, derivations(graph))
        assert len(again.templates) <= len(graph.templates)
