"""Rank regression, against least squares with an intercept for each sentence."""

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.progress import DragomanWarning
from dragoman.tuning.methods.rank_regression import RankRegression, list_ranks, regress
from dragoman.tuning.methods.svm_rank import pseudo_document_gains
from dragoman.tuning.problems.problem import Problem
from oracles.counted_bleu import CountedBleu
from oracles.tuning_margin import ErrorRate, oracle_objective, random_problem, separable_problem


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_those_within_each_list(seed):
    generator = rng(seed)
    bounds = np.concatenate([[0], np.cumsum(generator.integers(2, 12, 20))]).astype(np.int64)
    gains = generator.integers(0, 4, bounds[-1]).astype(float)
    expected = [(rankdata(gains[a:b]) - 1) / (b - a - 1) for a, b in itertools.pairwise(bounds)]
    np.testing.assert_allclose(list_ranks(bounds, gains), np.concatenate(expected), atol=1e-12)


@pytest.mark.parametrize("target", ["rank", "score"])
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_those_of_least_squares_with_an_intercept_for_each_sentence(seed, target):
    problem = random_problem(rng(seed), sentences=40)
    start = rng().normal(size=4)
    found = RankRegression(target=target).optimise(problem, start, rng=rng())
    gains = pseudo_document_gains(problem, start, 0.9)
    wanted = list_ranks(problem.sentences, gains) if target == "rank" else gains
    sizes = np.diff(problem.sentences)
    sentence = np.repeat(np.arange(len(sizes)), sizes)
    roots = np.sqrt(1 / sizes)[sentence]
    columns = np.hstack([problem.features.dense(), np.eye(len(sizes))[sentence]]) * roots[:, None]
    solution, *_ = np.linalg.lstsq(columns, roots * wanted, rcond=None)
    np.testing.assert_allclose(found.weights, solution[:4], rtol=1e-7, atol=1e-10)
    left = roots * wanted - columns @ solution
    means = np.bincount(sentence, wanted) / sizes
    spread = roots * (wanted - means[sentence])
    assert found.objective == pytest.approx(1 - (left @ left) / (spread @ spread))
    assert 0 < found.objective < 1


def test_principal_components():
    generator = rng(3)
    x = generator.normal(size=(200, 5)) @ generator.normal(size=(5, 5))
    x -= x.mean(axis=0)
    y = x @ generator.normal(size=5) + generator.normal(size=200)
    scaled = x / x.std(axis=0)
    _, _, axes = np.linalg.svd(scaled, full_matrices=False)
    for components in (1, 3, 5):
        parts = scaled @ axes[:components].T
        along, *_ = np.linalg.lstsq(parts, y, rcond=None)
        np.testing.assert_allclose(x @ regress(x, y, components), parts @ along, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(regress(x, y, 99), regress(x, y), rtol=1e-12)


def test_features_that_are_constant_or_twice_the_same_do_no_harm():
    generator = rng(4)
    x = generator.normal(size=(50, 3))
    y = x @ [1.0, 2.0, 3.0]
    wide = np.column_stack([x, np.zeros(50), x[:, 0]])
    found = regress(wide, y)
    np.testing.assert_allclose(wide @ found, y, atol=1e-9)
    assert found[3] == 0
    assert found[0] == pytest.approx(found[4])


@pytest.mark.parametrize("scorer", [CountedBleu(), ErrorRate()], ids=["bleu", "errors"])
def test_lists_are_ranked_better(scorer):
    problem = separable_problem(rng(7), scorer)
    found = RankRegression().optimise(problem, np.zeros(5), rng=rng())
    before, best = problem.objective(np.zeros(5)), oracle_objective(problem)
    assert problem.objective(found.weights) > (before + best) / 2


def test_without_differences_the_weights_stay():
    start = rng().normal(size=4)
    with pytest.warns(DragomanWarning, match="have the same score"):
        found = RankRegression().optimise(random_problem(rng(1), candidates=1), start, rng=rng())
    np.testing.assert_array_equal(found.weights, start)


def test_too_many_features_are_refused():
    rows = FeatureRows.from_dense([f"f{i}" for i in range(201)], rng().normal(size=(2, 201)))
    statistics = np.array([[3.0, 2, 5, 4, 5, 5], [4.0, 2, 5, 4, 5, 5]])
    problem = Problem(np.array([0, 2]), rows, statistics, CountedBleu(), np.zeros((201, 2)))
    with pytest.raises(UsageError, match="201 features; this method takes at most 200"):
        RankRegression().optimise(problem, np.zeros(201), rng=rng())
