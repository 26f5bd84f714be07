from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.problems.pseudo_document import Gains
from oracles.counted_bleu import CountedBleu
from oracles.tuning_margin import ErrorRate, SlowBleu, random_problem


def test_bleu_gains_are_scaled_by_reference_lengths() -> None:
    problem = random_problem(np.random.default_rng(1))
    gains = Gains.of(problem)
    document = np.array([5.0, 3, 8, 7, 8, 9, 9])
    expected = (9 + problem.statistics[:, 5]) * problem.scorer.score(document[:-1] + problem.statistics) / 100
    np.testing.assert_allclose(gains.within(document)[gains.kinds], expected, rtol=1e-15)
    assert gains.begin(np.zeros(4), 0.9).tolist() == [2, 1, 2, 1, 2, 2, 2]


def test_errors_are_negated_and_sentences_count_as_ten_words() -> None:
    problem = random_problem(np.random.default_rng(1), scorer=ErrorRate())
    gains = Gains.of(problem)
    document = np.array([4.0, 20.0, 30.0])
    expected = -40 * (4 + problem.statistics[:, 0]) / (20 + problem.statistics[:, 1])
    np.testing.assert_allclose(gains.within(document)[gains.kinds], expected, rtol=1e-14)


@pytest.mark.parametrize("decay", [0.9, 0.999, 1.0])
def test_other_metrics_begin_with_what_the_start_translates(decay: float) -> None:
    rng = np.random.default_rng(2)
    problem = random_problem(rng, scorer=SlowBleu(), sentences=20)
    weights = rng.normal(size=4)
    mean = problem.statistics[problem.best(weights)].mean(axis=0)
    document = Gains.of(problem).begin(weights, decay)
    np.testing.assert_allclose(document, [*(mean * (10 if decay == 0.9 else 20)), 100 if decay == 0.9 else 200])


def test_metrics_without_a_number_are_refused() -> None:
    class Odd(SlowBleu):
        def score(self, statistics: np.ndarray) -> np.ndarray:
            return np.where(statistics[..., 0] > 3, np.nan, super().score(statistics))

    problem = random_problem(np.random.default_rng(1), scorer=Odd())
    with pytest.raises(UsageError, match="no finite score for a sentence among others"):
        Gains.of(problem).within(np.zeros(7))


def test_rows_that_are_missing_are_refused() -> None:
    problem = random_problem(np.random.default_rng(1))
    rows = len(problem.features)
    fewer = Problem(problem.sentences, problem.features, problem.statistics[1:], problem.scorer, problem.ranges)
    with pytest.raises(DataError, match=f"{rows} rows of features and {rows - 1} of statistics; expected {rows}, one"):
        Gains.of(fewer)


def test_only_some_kinds() -> None:
    problem = random_problem(np.random.default_rng(4), scorer=CountedBleu())
    gains = Gains.of(problem)
    document = gains.begin(np.zeros(4), 0.9)
    np.testing.assert_array_equal(gains.within(document, np.array([3, 1])), gains.within(document)[[3, 1]])
