"""Expectations and their gradients under weights, against lists of all derivations and finite differences."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.runtime import Runtime
from dragoman.forest.batch import Batch
from dragoman.forest.log_linear import LogLinear
from dragoman.forest.ngrams import split_by_context
from oracles.forest import RandomHypergraphs, doubling

CASES = RandomHypergraphs(40, seed=17)
GRAPHS = [graph for graph, _ in CASES]
BATCH = Batch.of(GRAPHS)
FORESTS = LogLinear.of(BATCH)
WEIGHTS = np.array([0.3, -0.7, 0.45])
STEP = 1e-5


def listed(weights):
    """For each hypergraph its derivations as rows: probabilities, features, and how often they use each edge."""
    for graph, found in CASES:
        uses = np.zeros((len(found), graph.edges))
        for i, derivation in enumerate(found):
            np.add.at(uses[i], list(derivation.edges), 1)
        features = uses @ graph.features.dense()
        scores = features @ weights
        total = math.log(np.exp(scores - scores.max()).sum()) + scores.max()
        yield np.exp(scores - total), features, uses, total


def gains(seed=0):
    return np.random.default_rng(seed).normal(0, 2, FORESTS.edges)


def test_log_totals_and_expected_features():
    found = FORESTS.at(WEIGHTS)
    expected = list(listed(WEIGHTS))
    np.testing.assert_allclose(found.log_totals, [total for *_, total in expected], rtol=1e-12, atol=1e-12)
    factors = np.random.default_rng(1).normal(size=len(CASES))
    means = sum(factor * (p @ features) for factor, (p, features, _, _) in zip(factors, expected, strict=True))
    np.testing.assert_allclose(found.expected_features(factors), means, rtol=1e-11, atol=1e-11)


def test_expected_sums():
    columns = np.random.default_rng(2).normal(size=(FORESTS.edges, 3))
    first, expected = 0, []
    for p, _, uses, _ in listed(WEIGHTS):
        expected.append(p @ uses @ columns[first : first + uses.shape[1]])
        first += uses.shape[1]
    np.testing.assert_allclose(FORESTS.at(WEIGHTS).expected_sums(columns), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 7.0])
def test_expected_gain_entropy_and_covariance(temperature):
    values, gradient = FORESTS.at(WEIGHTS).expected_gains(gains(), temperature)
    first, expected, covariance = 0, [], np.zeros(3)
    for p, features, uses, _ in listed(WEIGHTS):
        worth = uses @ gains()[first : first + uses.shape[1]] - temperature * np.log(p)
        expected.append(p @ worth)
        covariance += (p * (worth - p @ worth)) @ features
        first += uses.shape[1]
    np.testing.assert_allclose(values, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(gradient, covariance, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("temperature", [0.0, 3.0])
def test_gradients_are_those_of_finite_differences(temperature):
    def value(weights):
        return FORESTS.at(weights).expected_gains(gains(), temperature)[0].sum()

    def total(weights):
        return FORESTS.at(weights).log_totals.sum()

    at = FORESTS.at(WEIGHTS)
    for function, gradient in (
        (value, at.expected_gains(gains(), temperature)[1]),
        (total, at.expected_features(np.ones(len(CASES)))),
    ):
        for i, way in enumerate(np.eye(3) * STEP):
            difference = (function(WEIGHTS + way) - function(WEIGHTS - way)) / (2 * STEP)
            assert gradient[i] == pytest.approx(difference, rel=1e-6, abs=1e-6)


def test_splits_share_features_and_have_the_same_distribution():
    splits = [split_by_context(replace(graph, features=None), 3) for graph in GRAPHS]
    forests = LogLinear.of_splits(BATCH, splits)
    assert forests.edges == sum(split.graph.edges for split in splits) > FORESTS.edges / 2
    first = np.cumsum([0, *(graph.edges for graph in GRAPHS)])
    of_splits = np.concatenate([gains()[split.edges + i] for split, i in zip(splits, first, strict=False)])
    whole, split = (f.at(WEIGHTS).expected_gains(g, 2.0) for f, g in ((FORESTS, gains()), (forests, of_splits)))
    for ours, theirs in zip(split, whole, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_threads_do_not_matter():
    found = [FORESTS.at(WEIGHTS, runtime=Runtime(threads=threads)) for threads in (1, 2, 3)]
    for other in found[1:]:
        assert other.log_shares.tobytes() == found[0].log_shares.tobytes()
        for ours, theirs in zip(other.expected_gains(gains(), 1.0), found[0].expected_gains(gains(), 1.0), strict=True):
            assert ours.tobytes() == theirs.tobytes()


def test_scores_beyond_all_measure():
    values, gradient = FORESTS.at(WEIGHTS * 1e300).expected_gains(gains(), 1.0)
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()


def test_a_node_that_is_used_thousands_of_times():
    graph = doubling(12)
    graph = replace(graph, features=FeatureRows.from_dense(["a"], np.ones((graph.edges, 1))))
    found = LogLinear.of(Batch.of([graph])).at(np.array([0.001]))
    assert found.expected_features(np.ones(1)).tolist() == [2**12 - 1]
    values, gradient = found.expected_gains(np.ones(graph.edges), 1.0)
    assert (values.tolist(), gradient.tolist()) == ([2**12 - 1], [0])


def test_hypergraphs_without_derivations_are_left_alone():
    barren = next(graph for graph, found in RandomHypergraphs(60, 1, derivable=False) if not found and graph.edges)
    found = LogLinear.of(Batch.of([barren, GRAPHS[0]])).at(WEIGHTS)
    assert found.log_totals[0] == -np.inf
    assert np.isfinite(found.expected_gains(np.zeros(barren.edges + GRAPHS[0].edges), 1.0)[0]).all()


def test_arrays_that_do_not_fit_are_refused():
    at = FORESTS.at(WEIGHTS)
    for wrong in (
        lambda: FORESTS.at(WEIGHTS[:2]),
        lambda: at.expected_gains(np.zeros(3)),
        lambda: at.expected_sums(np.zeros(FORESTS.edges)),
        lambda: at.expected_features(np.zeros(3)),
        lambda: LogLinear.of(Batch.of([replace(GRAPHS[0], features=None)])),
    ):
        with pytest.raises(UsageError):
            wrong()
