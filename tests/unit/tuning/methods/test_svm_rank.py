from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.progress import DragomanWarning
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.svm_rank import SvmRank, mira_pairs, pseudo_document_gains, ranked_pairs
from dragoman.tuning.problems.problem import Problem
from oracles.counted_bleu import CountedBleu
from oracles.tuning_margin import ErrorRate, SlowBleu, oracle_objective, random_problem, separable_problem


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_those_of_sorted_lists(seed: int) -> None:
    generator = rng(seed)
    bounds = np.concatenate([[0], np.cumsum(generator.integers(1, 12, 20))]).astype(np.int64)
    gains = generator.integers(0, 5, bounds[-1]).astype(float)
    expected = []
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        ranking = sorted(range(a, b), key=lambda row: -gains[row])
        for j in range(min(3, len(ranking))):
            expected += [(ranking[j], worse) for worse in ranking[j + 1 : j + 5] if gains[ranking[j]] > gains[worse]]
    better, worse = ranked_pairs(bounds, gains, best=3, followers=4)
    assert list(zip(better.tolist(), worse.tolist(), strict=True)) == expected


@pytest.mark.parametrize("seed", range(5))
def test_spread_pairs_reach_over_the_whole_list(seed: int) -> None:
    generator = rng(seed)
    bounds = np.concatenate([[0], np.cumsum(generator.integers(1, 40, 20))]).astype(np.int64)
    gains = generator.permutation(int(bounds[-1])).astype(float)
    expected = []
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        ranking = sorted(range(a, b), key=lambda row: -gains[row])
        for j in range(min(2, len(ranking))):
            behind = ranking[j + 1 :]
            count = min(4, len(behind))
            expected += [(ranking[j], behind[math.ceil(k * len(behind) / count) - 1]) for k in range(1, count + 1)]
    better, worse = ranked_pairs(bounds, gains, best=2, followers=4, spread=True)
    assert list(zip(better.tolist(), worse.tolist(), strict=True)) == expected


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("best", [1, 3])
def test_pairs_of_mira_are_its_oracles_with_its_hypotheses(seed: int, best: int) -> None:
    generator = rng(seed)
    bounds = np.concatenate([[0], np.cumsum(generator.integers(1, 15, 20))]).astype(np.int64)
    gains = generator.integers(0, 5, bounds[-1]).astype(float)
    scores = generator.normal(size=bounds[-1])
    expected = set()
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        by_hope, by_model, by_fear = (
            sorted(range(a, b), key=lambda row: -(scores[row] + mu * gains[row])) for mu in (1, 0, -1)
        )
        for row in {*by_hope[:4], *by_model[:4], *by_fear[:4]}:
            for oracle in by_hope[:best]:
                if gains[row] != gains[oracle]:
                    expected.add((row, oracle) if gains[row] > gains[oracle] else (oracle, row))
    better, worse = mira_pairs(bounds, gains, scores, best, 4)
    found = list(zip(better.tolist(), worse.tolist(), strict=True))
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_pairs_of_mira_can_be_learnt_from() -> None:
    problem = separable_problem(rng(7), CountedBleu())
    found = SvmRank(selection="mira").optimise(problem, np.zeros(5), rng=rng())
    assert problem.objective(found.weights) > problem.objective(np.zeros(5))


@pytest.mark.parametrize("sign", [1, -1])
def test_gains_see_the_sentences_before(sign: int) -> None:
    problem = random_problem(rng(3), scorer=CountedBleu() if sign > 0 else ErrorRate())
    weights = rng().normal(size=4)
    best = problem.best(weights)
    width = problem.statistics.shape[1]
    chosen = problem.statistics[best]
    document = np.array([2.0, 1, 2, 1, 2, 2]) if sign > 0 else chosen.mean(axis=0) * 10
    size = 2.0 if sign > 0 else 100.0
    gains = pseudo_document_gains(problem, weights, 0.9)
    for s in range(len(best)):
        rows = slice(problem.sentences[s], problem.sentences[s + 1])
        length = problem.statistics[rows, 5].mean() if sign > 0 else 10.0
        expected = sign * (size + length) * problem.scorer.score(document[:width] + problem.statistics[rows]) / 100
        np.testing.assert_allclose(gains[rows], expected, rtol=1e-12)
        document, size = 0.9 * (document + chosen[s]), 0.9 * (size + length)


@pytest.mark.parametrize("C", [0.04, 1.0])
def test_weights_are_those_of_a_support_vector_machine_on_both_signs(C: float) -> None:
    problem = random_problem(rng(5), sentences=60)
    start = rng().normal(size=4)
    found = SvmRank(C=C).optimise(problem, start, rng=rng())
    gains = pseudo_document_gains(problem, start, 0.9)
    better, worse = ranked_pairs(problem.sentences, gains, 3, 30, spread=True)
    dense = problem.features.dense()
    pairs = dense[better] - dense[worse]
    examples, labels = np.concatenate([pairs, -pairs]), np.repeat([1, -1], len(pairs))

    def loss(weights: np.ndarray) -> float:
        return float(weights @ weights / 2 + C * np.maximum(0, 1 - labels * (examples @ weights)).sum())

    machine = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-8, max_iter=1_000_000, random_state=0)
    best = loss(machine.fit(examples, labels).coef_[0])
    assert found.objective == pytest.approx(-loss(found.weights), rel=1e-12)
    # liblinear stops when no step would move a dual variable by much; the objectives agree to more digits.
    assert loss(found.weights) == pytest.approx(best, rel=1e-4)
    assert best < loss(np.zeros(4))


@pytest.mark.parametrize("scorer", [CountedBleu(), SlowBleu(), ErrorRate()], ids=["bleu", "slow bleu", "errors"])
def test_separable_problems_are_solved(scorer: CountedBleu) -> None:
    problem = separable_problem(rng(7), scorer)
    found = SvmRank(C=100.0, max_iterations=1_000_000).optimise(problem, np.zeros(5), rng=rng())
    assert problem.objective(np.zeros(5)) < oracle_objective(problem)
    assert problem.objective(found.weights) == oracle_objective(problem)


def test_one_pair_is_enough() -> None:
    rows = FeatureRows.from_dense(["f"], np.array([[1.0], [3.0]]))
    statistics = np.array([[3.0, 2, 5, 4, 5, 5], [4.0, 2, 5, 4, 5, 5]])
    problem = Problem(np.array([0, 2]), rows, statistics, CountedBleu(), np.array([[-1.0, 1.0]]))
    # Both signs of a difference of 2: minimise w²/2 + 2 C max(0, 1 - 2w), which is at w = 4C below the hinge.
    found = SvmRank(C=0.04).optimise(problem, np.zeros(1), rng=rng())
    assert found.weights[0] == pytest.approx(0.16, abs=1e-6)


def test_same_seed_same_result() -> None:
    problem = random_problem(rng(2), sentences=50)
    first, second = (
        SvmRank().optimise(problem, np.ones(4), rng=rng(4), runtime=Runtime(threads=t)).weights for t in (1, 2)
    )
    np.testing.assert_array_equal(first, second)


def test_without_pairs_the_weights_stay() -> None:
    start = rng().normal(size=4)
    with pytest.warns(DragomanWarning, match="have the same score"):
        found = SvmRank().optimise(random_problem(rng(1), candidates=1), start, rng=rng())
    np.testing.assert_array_equal(found.weights, start)


def test_says_so_if_the_solver_stops_early() -> None:
    with pytest.warns(DragomanWarning, match="did not converge in 1 iterations"):
        SvmRank(max_iterations=1).optimise(random_problem(rng(5), sentences=60), np.zeros(4), rng=rng())
