from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.progress import Progress, ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.mira import Mira
from dragoman.tuning.problems.problem import Problem
from oracles.counted_bleu import CountedBleu
from oracles.tuning_margin import (
    ErrorRate,
    SlowBleu,
    kbest_mira,
    oracle_objective,
    random_problem,
    separable_problem,
)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("seed", range(12))
def test_equals_the_slow_twin(seed: int) -> None:
    problem = random_problem(rng(seed), sentences=20)
    start = rng(seed + 100).normal(size=4) * 0.1
    order = np.arange(20)
    generator = rng(seed)
    orders = [generator.permutation(order).tolist() for _ in range(5)]
    averages = kbest_mira(problem, start, orders, C=0.05, decay=0.9)
    best = max([start, *averages], key=problem.objective)
    found = Mira(C=0.05, decay=0.9, epochs=5).optimise(problem, start, rng=rng(seed))
    np.testing.assert_allclose(found.weights, best, rtol=0, atol=1e-10)
    assert found.objective == problem.objective(found.weights) == pytest.approx(problem.objective(best), abs=1e-9)


def test_without_shuffling_sentences_come_in_order() -> None:
    problem = random_problem(rng(3), sentences=20)
    [average] = kbest_mira(problem, np.zeros(4), [list(range(20))], C=0.01, decay=0.999)
    found = Mira(epochs=1, shuffle=False).optimise(problem, np.zeros(4), rng=rng())
    assert problem.objective(average) > problem.objective(np.zeros(4))
    np.testing.assert_allclose(found.weights, average, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scorer", [CountedBleu(), SlowBleu(), ErrorRate()], ids=["bleu", "slow bleu", "errors"])
def test_separable_problems_are_solved(scorer: CountedBleu) -> None:
    problem = separable_problem(rng(7), scorer)
    found = Mira(C=1.0, epochs=300).optimise(problem, np.zeros(5), rng=rng())
    assert problem.objective(np.zeros(5)) < oracle_objective(problem)
    assert found.objective == oracle_objective(problem)


def test_stops_when_nothing_is_left_to_learn() -> None:
    class Watch(Progress):
        @contextlib.contextmanager
        def stage(self, name: str) -> Iterator[ProgressCallback]:
            yield shares.append

    shares: list[float] = []
    rows = FeatureRows.from_dense(["f"], np.array([[9.0], [0.0]] * 5))
    statistics = np.tile([[9.0, 8, 10, 9, 10, 10], [1.0, 1, 10, 9, 10, 10]], (5, 1))
    problem = Problem(np.arange(0, 11, 2), rows, statistics, CountedBleu(), np.array([[-1.0, 1.0]]))
    found = Mira().optimise(problem, np.array([50.0]), rng=rng(), runtime=Runtime(progress=Watch()))
    assert found.weights.tolist() == [50.0]
    assert shares == [1 / 60]


@pytest.mark.parametrize("scorer", [CountedBleu(), ErrorRate()], ids=["bleu", "errors"])
def test_same_result_for_any_number_of_threads_and_inputs_unchanged(scorer: CountedBleu) -> None:
    problem = random_problem(rng(2), sentences=150, scorer=scorer)
    start = rng(9).normal(size=4)
    kept = start.copy()
    results = [
        Mira(epochs=5).optimise(problem, start, rng=rng(4), runtime=Runtime(threads=threads)) for threads in (1, 2, 1)
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].weights, other.weights)
    np.testing.assert_array_equal(start, kept)
    assert not np.shares_memory(results[0].weights, start)


def test_many_sparse_features() -> None:
    generator = rng(5)
    rows, nonzero, features = 3000, 30, 100_000
    ids = generator.integers(0, features, rows * nonzero).astype(np.int32)
    names = tuple(map(str, range(features)))
    sparse = FeatureRows(names, np.arange(0, rows * nonzero + 1, nonzero), ids, generator.normal(size=len(ids)))
    statistics = random_problem(generator, sentences=rows, candidates=1).statistics
    problem = Problem(
        np.arange(0, rows + 1, 10), sparse, statistics, CountedBleu(), np.tile([-1.0, 1.0], (features, 1))
    )
    found = Mira(epochs=10).optimise(problem, np.zeros(features), rng=rng())
    assert found.objective > problem.objective(np.zeros(features)) + 5


@pytest.mark.parametrize(
    "problem",
    [
        random_problem(rng(1), candidates=1),
        random_problem(rng(1), density=0.0),
        Problem(
            np.array([0, 3]),
            FeatureRows.from_dense(["f"], np.array([[1.0], [2.0], [2.0]])),
            np.tile([3.0, 2, 5, 4, 5, 5], (3, 1)),
            CountedBleu(),
            np.array([[-1.0, 1.0]]),
        ),
    ],
    ids=["single candidates", "no features", "equal statistics"],
)
def test_where_nothing_can_be_learnt_the_start_is_kept(problem: Problem) -> None:
    start = rng().normal(size=len(problem.names))
    found = Mira(epochs=3).optimise(problem, start, rng=rng())
    np.testing.assert_array_equal(found.weights, start)


def test_duplicated_candidates_change_nothing() -> None:
    problem = random_problem(rng(11), sentences=15)
    twice = np.repeat(np.arange(len(problem.features)), 2)
    doubled = Problem(
        problem.sentences * 2, problem.features.take(twice), problem.statistics[twice], CountedBleu(), problem.ranges
    )
    single, double = (Mira(epochs=4).optimise(p, np.zeros(4), rng=rng()) for p in (problem, doubled))
    np.testing.assert_array_equal(single.weights, double.weights)
