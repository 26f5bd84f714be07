import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.runtime import Runtime
from dragoman.tuning.problems.problem import Evaluator
from oracles.tuning_sampling_opt import random_problem


def candidates(problem):
    return kernels.Candidates(sentences=problem.sentences, features=problem.features.for_kernels())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sparse", [True, False])
def test_distinct_candidates(threads, sparse):
    problem = random_problem(1, sentences=40, most=30, features=2, sparse=sparse)
    kept = kernels.distinct_candidates(candidates(problem), threads)
    sentences, features = problem.sentences, problem.features
    seen, expected = set(), []
    for h in range(len(problem.features)):
        part = slice(features.offsets[h], features.offsets[h + 1])
        row = (int(np.searchsorted(sentences, h, "right")), tuple(features.ids[part]), tuple(features.values[part]))
        expected.append(row not in seen)
        seen.add(row)
    assert kept.tolist() == expected
    assert not all(expected)


def test_both_zeros_are_one_value():
    ids, values = np.zeros(2, np.int32), np.array([0.0, -0.0])
    features = kernels.FeatureRows(offsets=np.array([0, 1, 2]), ids=ids, values=values)
    kept = kernels.distinct_candidates(kernels.Candidates(sentences=np.array([0, 2]), features=features), 1)
    assert kept.tolist() == [1, 0]


@pytest.mark.parametrize("reach", [0.0, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("rivals", [0, 1, 32])
def test_no_winner_in_a_box_is_left_out(reach, rivals):
    problem = random_problem(2, sentences=40, most=80, digits=3)
    level = Evaluator(problem)._levels[0]
    rng = np.random.default_rng(0)
    for centre in rng.uniform(-1, 1, (5, 4)):
        kept = kernels.box_winners(
            level.bounds, level.features, level.tolerance, centre, np.full(4, reach), rivals, 1
        ).astype(bool)
        rows = set(level.rows[kept].tolist()) | set(np.delete(level.settled, level.open).tolist())
        corners = centre + reach * rng.choice([-1.0, 1.0], (50, 4))
        for weights in [centre, *corners, *(centre + reach * rng.uniform(-1, 1, (50, 4)))]:
            assert rows.issuperset(problem.best(weights).tolist())
        if reach <= 0.01:
            assert kept.mean() < 0.5


def test_sum_winners():
    rng = np.random.default_rng(3)
    statistics = rng.integers(0, 50, (30, 4)).astype(float)
    rows = rng.permutation(30)[:20]
    usual, winners = rng.integers(0, 20, 25), rng.integers(0, 20, (25, 7)).astype(np.int32)
    winners[::2] = usual[::2, None]
    sums = kernels.sum_winners(statistics, rows, usual, winners, 2)
    assert sums.tolist() == statistics[rows[winners]].sum(axis=0).tolist()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("vectors", [0, 1, 16, 33])
def test_best_candidates(threads, vectors):
    problem = random_problem(4, sentences=50, most=50, sparse=True)
    weights = np.round(np.random.default_rng(0).uniform(-1, 1, (vectors, 4)), 1)
    best = Evaluator(problem, runtime=Runtime(threads=threads)).best(weights)
    assert best.tolist() == [problem.best(w).tolist() for w in weights]


@pytest.mark.parametrize("threads", [1, 3])
def test_expectations_and_gradient(threads):
    problem = random_problem(5, sentences=20, sparse=True)
    weights, slopes = np.array([0.3, -2.0, 0.1, 1.0]), np.array([0.1, 0.2, -0.3, 0.4, 0.5, -0.6])
    lists = candidates(problem)
    scores, p, expected, entropy = kernels.expected_statistics(lists, problem.statistics, weights, threads)
    gradient = kernels.expectation_gradient(lists, problem.statistics, scores, p, slopes, 0.7, len(weights), threads)
    model, dense = problem.model_scores(weights), problem.dense
    total, gains, surprise = np.zeros(6), np.zeros(4), 0.0
    for begin, end in zip(problem.sentences[:-1], problem.sentences[1:], strict=True):
        q = np.exp(model[begin:end] - model[begin:end].max())
        q /= q.sum()
        np.testing.assert_allclose(p[begin:end], q, rtol=1e-12)
        total += q @ problem.statistics[begin:end]
        surprise -= q @ np.log(q)
        gain = problem.statistics[begin:end] @ slopes - 0.7 * np.log(q)
        gains += (q * (gain - q @ gain)) @ dense[begin:end]
    np.testing.assert_allclose(expected, total, rtol=1e-12)
    np.testing.assert_allclose(gradient, gains, rtol=1e-10, atol=1e-12)
    assert entropy == pytest.approx(surprise, rel=1e-12)
