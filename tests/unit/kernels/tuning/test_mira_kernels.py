from __future__ import annotations

import numpy as np
import pytest

from dragoman import kernels
from dragoman.tuning.problems.problem import Problem
from oracles.tuning_margin import bleu_statistics, chosen_hypotheses, mira_primal, random_problem, solve_mira


def candidates(problem: Problem) -> kernels.Candidates:
    return kernels.Candidates(sentences=problem.sentences, features=problem.features.for_kernels())


def test_distinct_statistics_number_what_is_equal_within_a_sentence() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 40, 30)
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    statistics = bleu_statistics(rng, sizes)
    kinds, firsts, offsets = kernels.distinct_statistics(bounds, statistics)
    np.testing.assert_array_equal(statistics[firsts[kinds]], statistics)
    for s in range(len(sizes)):
        rows = statistics[bounds[s] : bounds[s + 1]]
        assert offsets[s + 1] - offsets[s] == len(np.unique(rows, axis=0))
        assert set(kinds[bounds[s] : bounds[s + 1]].tolist()) == set(range(offsets[s], offsets[s + 1]))


def test_decayed_sums() -> None:
    rows, start = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([10.0, 20.0])
    sums = kernels.decayed_sums(rows, start, 0.5, 0.25)
    np.testing.assert_array_equal(sums, [[10, 20], [5.25, 10.5], [3.375, 6.5]])


@pytest.mark.parametrize("seed", range(5))
def test_best_candidates_are_those_of_the_problem(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, sentences=200, density=0.4)
    for weights in (rng.normal(size=4), np.zeros(4)):
        expected = problem.best(weights)
        for threads in (1, 2):
            np.testing.assert_array_equal(kernels.best_rows(candidates(problem), weights, threads), expected)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_batch_update_solves_the_quadratic_program(seed: int, C: float) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, sentences=int(rng.integers(1, 6)), candidates=12, features=4)
    gains = rng.normal(size=len(problem.features))
    batch = rng.permutation(len(problem.sentences) - 1)
    old = rng.normal(size=4)
    weights, best, gap, _ = kernels.mira_smo_batch(
        candidates(problem), np.arange(len(gains)), gains, batch, old, 3, C, 1e-10, 10_000
    )
    np.testing.assert_array_equal(best, problem.best(old)[batch])
    assert -1e-12 <= gap <= 1e-10 * C * len(batch)

    dense, examples = problem.features.dense(), []
    for s in batch:
        rows = np.arange(problem.sentences[s], problem.sentences[s + 1])
        rows = rows[chosen_hypotheses(dense[rows] @ old, gains[rows], 3)]
        examples.append((dense[rows[0]] - dense[rows], gains[rows[0]] - gains[rows]))
    expected = solve_mira(old, examples, C)
    # The program is strongly convex: half the squared distance of two points is at most the sum of their excesses.
    assert mira_primal(weights, old, examples, C) <= mira_primal(expected, old, examples, C) + 1e-9
    np.testing.assert_allclose(weights, expected, atol=1e-4)


def one_sentence(offsets: list[int], ids: list[int], values: np.ndarray) -> kernels.Candidates:
    features = kernels.FeatureRows(offsets=np.array(offsets), ids=np.array(ids, np.int32), values=values)
    return kernels.Candidates(sentences=np.array([0, len(offsets) - 1]), features=features)


@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("cost", [1.0, 3.0])
def test_updates_against_one_rival_have_the_closed_form(C: float, cost: float) -> None:
    difference, old, gains = np.array([1.0, -2.0, 0.5]), np.array([-0.2, 0.3, 0.1]), np.array([cost, 0.0])
    loss = cost - difference @ old
    expected = old + min(C, loss / (difference @ difference)) * difference
    # The first candidate has some features, the second has none.
    two = one_sentence([0, 3, 3], [0, 1, 2], difference)
    weights, *_ = kernels.mira_smo_batch(two, np.arange(2), gains, np.array([0]), old, 2, C, 1e-12, 100)
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-12)
    weights, drift, document, updates, total = kernels.mira_epoch(
        two,
        kernels.Kinds(
            of_rows=np.arange(2),
            offsets=np.array([0, 2]),
            statistics=np.array([[7.0, 1.0], [5.0, 1.0]]),
            bleu_columns=np.empty(0, np.int64),
        ),
        gains=gains,
        order=np.array([0]),
        weights=old,
        drift=np.zeros(3),
        background=np.array([100.0, 10.0]),
        ticks=4,
        C=C,
        decay=0.5,
    )
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(drift, 4 * (expected - old), rtol=0, atol=1e-14)
    assert (document.tolist(), updates) == ([57.0, 6.0], 1)
    assert total == pytest.approx(loss, abs=1e-15)


def test_batch_update_of_equal_features_changes_nothing() -> None:
    alike, gains = one_sentence([0, 1, 2], [0, 0], np.ones(2)), np.array([1.0, 0.0])
    weights, _, gap, _ = kernels.mira_smo_batch(
        alike, np.arange(2), gains, np.array([0]), np.ones(1), 2, 0.5, 1e-9, 100
    )
    # The loss of 1 cannot be avoided: the dual puts all its weight on the worse candidate, and the gap closes.
    assert weights.tolist() == [1.0]
    assert gap == 0
