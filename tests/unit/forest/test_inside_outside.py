import math
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.forest.inside_outside import (
    edge_posteriors,
    edge_scores,
    entropy,
    expectation,
    expected_features,
    inside,
    log_partition,
    max_inside,
    max_outside,
)
from oracles.forest import RandomHypergraphs, chain, derivations, doubling, probabilities

CASES = RandomHypergraphs(300, seed=1)


def log_sum(scores):
    return math.log(math.fsum(map(math.exp, scores))) if scores else -math.inf


def test_inside_scores_sum_over_the_derivations_of_each_node():
    for graph, _ in CASES:
        expected = [log_sum([d.score for d in derivations(graph, node)]) for node in range(graph.nodes)]
        np.testing.assert_allclose(inside(graph), expected, rtol=0, atol=1e-12)
        assert log_partition(graph) == inside(graph)[graph.root]


def test_posteriors_and_expectations_are_those_of_all_derivations():
    for graph, listed in CASES:
        shares = probabilities(listed)
        counts = np.array([np.bincount(d.edges, minlength=graph.edges) for d in listed], float)
        expected = np.array(shares) @ counts
        np.testing.assert_allclose(edge_posteriors(graph), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(expected_features(graph), expected @ graph.features.dense(), rtol=0, atol=1e-11)
        values = np.arange(2.0 * graph.edges).reshape(-1, 2)
        np.testing.assert_allclose(expectation(graph, values), expected @ values, rtol=1e-12, atol=1e-11)
        assert entropy(graph) == pytest.approx(-math.fsum(p * math.log(p) for p in shares), abs=1e-11)


def test_max_marginals_are_the_best_scores_with_each_edge():
    for graph, listed in CASES:
        up = max_inside(graph)
        best = [max((d.score for d in listed if e in d.edges), default=-np.inf) for e in range(graph.edges)]
        np.testing.assert_allclose(edge_scores(graph, up, max_outside(graph, up)), best, rtol=0, atol=1e-12)


def test_scores_far_from_zero_do_not_overflow():
    graph, listed = CASES[0]
    shifted = replace(graph, scores=graph.scores * 0 - 5000.0)
    sizes = [5000.0 * len(d.edges) for d in listed]
    least = min(sizes)
    assert log_partition(shifted) == pytest.approx(log_sum([least - size for size in sizes]) - least, abs=1e-9)


def test_a_hypergraph_without_derivations_has_no_expectations():
    graph = replace(chain(3), first_edge=np.array([0, 0, 3, 6]), tails=np.zeros((6, 2), np.int32) - [0, 1])
    assert log_partition(graph) == -np.inf
    with pytest.raises(DataError, match="no derivation"):
        edge_posteriors(graph)


def test_values_must_be_one_for_each_edge():
    graph, _ = CASES[0]
    with pytest.raises(UsageError, match="values for"):
        expectation(graph, np.zeros(graph.edges + 1))
    with pytest.raises(UsageError, match="without features"):
        expected_features(replace(graph, features=None))


def test_deep_and_exponentially_large_hypergraphs():
    assert log_partition(chain(200_000)) == pytest.approx(200_000 * math.log(1 + math.exp(-1)), abs=1e-6)
    np.testing.assert_allclose(edge_posteriors(doubling(60)), 2.0 ** np.arange(59, -1, -1), rtol=1e-12)
