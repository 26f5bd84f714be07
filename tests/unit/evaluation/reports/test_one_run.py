"""The metric along each weight, against the best candidates at each place."""

import numpy as np
import pytest

from dragoman.evaluation.reports.experiment_sections import metric_along_weights
from oracles.tuning_mert import random_problem


@pytest.mark.parametrize("seed", range(6))
def test_scores_are_those_of_the_best_candidates_at_each_place(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 8, 3)
    weights = rng.normal(size=3)
    found = metric_along_weights(problem, weights, problem.sign)
    assert len(found) == 3
    reach = np.abs(weights).max()
    for feature, (values, scores) in enumerate(found):
        assert (values[0], values[-1]) == pytest.approx((weights[feature] - reach, weights[feature] + reach))
        assert len(set(scores.tolist())) > 1
        for place in range(0, len(values), 40):
            moved = weights.copy()
            moved[feature] = values[place]
            chosen = problem.statistics[problem.best(moved)].sum(axis=0)
            assert scores[place] == pytest.approx(float(problem.scorer.score(chosen)))
