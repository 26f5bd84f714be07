from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.forest.derivation import best_derivation, derivation_scores, yields
from dragoman.forest.kbest import kbest
from oracles.forest import RandomHypergraphs, chain, doubling

CASES = RandomHypergraphs(300, seed=3)


@pytest.mark.parametrize("k", [1, 3, 10_000])
def test_the_k_best_derivations_are_the_best_ones_each_once_and_sorted(k):
    for graph, listed in CASES:
        found = kbest(graph, k)
        expected = sorted((d.score for d in listed), reverse=True)[:k]
        np.testing.assert_allclose(found.scores, expected, rtol=0, atol=1e-12)
        assert (np.diff(found.scores) <= 0).all()
        np.testing.assert_allclose(derivation_scores(graph, found.derivations), found.scores, rtol=0, atol=1e-12)
        edges = [tuple(row.tolist()) for row in found.derivations]
        assert len(set(edges)) == len(edges)
        assert set(edges) <= {d.edges for d in listed}
        assert edges[0] == tuple(best_derivation(graph).edges.tolist())


@pytest.mark.parametrize("k", [1, 3, 10_000])
def test_the_k_best_strings_come_with_their_best_derivations(k):
    for graph, listed in CASES:
        best: dict[tuple[int, ...], float] = {}
        for d in listed:
            best[d.words] = max(d.score, best.get(d.words, -np.inf))
        found = kbest(graph, k, distinct=True)
        np.testing.assert_allclose(found.scores, sorted(best.values(), reverse=True)[:k], rtol=0, atol=1e-12)
        strings = [tuple(row.tolist()) for row in yields(graph, found.derivations)]
        assert len(set(strings)) == len(strings)
        np.testing.assert_allclose(found.scores, [best[s] for s in strings], rtol=0, atol=1e-12)


def test_a_longer_list_begins_with_the_shorter_one():
    for graph, _ in CASES:
        short, long = kbest(graph, 5), kbest(graph, 50)
        assert long.derivations.values[: len(short.derivations.values)].tolist() == short.derivations.values.tolist()


def test_the_bound_on_derivations_cuts_the_list_but_not_its_order():
    graph = chain(20, edges=3)
    assert len(kbest(graph, 5, distinct=True, max_derivations=1000)) == 1
    for graph, _ in CASES:
        whole, cut = kbest(graph, 1000, distinct=True), kbest(graph, 1000, distinct=True, max_derivations=7)
        assert 1 <= len(cut) <= len(whole)
        assert cut.scores.tolist() == whole.scores[: len(cut)].tolist()


def test_no_derivations_and_bad_arguments():
    graph, _ = CASES[0]
    empty = replace(graph, first_edge=np.where(np.arange(graph.nodes + 1) > graph.root + 1, graph.edges, 0))
    assert len(kbest(empty, 5)) == 0
    with pytest.raises(UsageError, match="at least 1"):
        kbest(graph, 0)


def test_deep_lattices_and_exponentially_large_derivations():
    found = kbest(chain(50_000), 3)
    assert found.scores.tolist() == [0.0, -1.0, -1.0]
    with pytest.raises(ValueError, match="4 million"):
        kbest(doubling(60), 2, distinct=True)
