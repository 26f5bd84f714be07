from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.progress import DragomanWarning
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods import mira_smo
from dragoman.tuning.methods.mira_smo import MiraSmo
from dragoman.tuning.problems.problem import Problem
from oracles.counted_bleu import CountedBleu
from oracles.tuning_margin import (
    ErrorRate,
    SlowBleu,
    chosen_hypotheses,
    oracle_objective,
    random_problem,
    separable_problem,
    solve_mira,
)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def slow_mira(problem: Problem, start: np.ndarray, passes: int, batch: int, C: float) -> np.ndarray:
    """The whole method, for BLEU, in order, with a general solver of quadratic programs."""
    dense, document, size, weights = problem.features.dense(), np.array([2.0, 1, 2, 1, 2, 2]), 2.0, start
    sentences = list(range(len(problem.sentences) - 1))
    for _ in range(passes):
        after = []
        for first in range(0, len(sentences), batch):
            examples, translations = [], []
            for s in sentences[first : first + batch]:
                rows = np.arange(problem.sentences[s], problem.sentences[s + 1])
                length = problem.statistics[rows, 5].mean()
                gains = (size + length) * problem.scorer.score(document + problem.statistics[rows]) / 100
                scores = dense[rows] @ weights
                chosen = chosen_hypotheses(scores, gains, 2)
                changes = dense[rows[chosen[0]]] - dense[rows[chosen]]
                examples.append((changes, gains[chosen[0]] - gains[chosen]))
                translations.append((problem.statistics[rows[scores.argmax()]], length))
            weights = solve_mira(weights, examples, C)
            after.append(weights)
            for counts, length in translations:
                document, size = 0.9 * (document + counts), 0.9 * (size + length)
    return np.mean(after, axis=0)


@pytest.mark.parametrize("batch", [1, 3])
def test_equals_the_slow_twin(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mira_smo, "TOLERANCE", 1e-10)
    problem = random_problem(rng(6), sentences=10)
    start = rng(1).normal(size=4) * 0.1
    tuner = MiraSmo(passes=2, batch_size=batch, hypotheses=2, C=0.05, shuffle=False)
    found = tuner.optimise(problem, start, rng=rng())
    np.testing.assert_allclose(found.weights, slow_mira(problem, start, 2, batch, 0.05), rtol=0, atol=1e-5)
    assert found.objective == problem.objective(found.weights)


@pytest.mark.parametrize("scorer", [CountedBleu(), SlowBleu(), ErrorRate()], ids=["bleu", "slow bleu", "errors"])
@pytest.mark.parametrize("batch", [1, 20, 0])
def test_separable_problems_are_solved(scorer: CountedBleu, batch: int) -> None:
    problem = separable_problem(rng(7), scorer)
    found = MiraSmo(C=1.0, passes=20, batch_size=batch).optimise(problem, np.zeros(5), rng=rng())
    assert problem.objective(np.zeros(5)) < oracle_objective(problem)
    assert found.objective == oracle_objective(problem)


def test_same_seed_same_result_and_inputs_unchanged() -> None:
    problem = random_problem(rng(2), sentences=50)
    start = rng(9).normal(size=4)
    kept = start.copy()
    results = [
        MiraSmo().optimise(problem, start, rng=rng(seed), runtime=Runtime(threads=t)).weights
        for seed, t in ((4, 1), (4, 2), (5, 1))
    ]
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).any()
    np.testing.assert_array_equal(start, kept)


@pytest.mark.parametrize(
    "problem",
    [random_problem(rng(1), candidates=1), random_problem(rng(1), density=0.0)],
    ids=["single", "no features"],
)
def test_where_nothing_can_be_learnt_the_start_is_kept(problem: Problem) -> None:
    start = rng().normal(size=4)
    found = MiraSmo(passes=2, batch_size=0).optimise(problem, start, rng=rng())
    np.testing.assert_array_equal(found.weights, start)


def test_says_so_if_the_solver_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mira_smo, "MAX_SWEEPS", 1)
    problem = random_problem(rng(6), sentences=40)
    with pytest.warns(DragomanWarning, match="stopped before they were exact"):
        MiraSmo(C=100.0, batch_size=0).optimise(problem, np.zeros(4), rng=rng())
