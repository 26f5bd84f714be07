from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.feature_rows import FeatureRows
from dragoman.tuning.methods.pro import Pro
from dragoman.tuning.methods.pro_mix import MixedRanking, ProMix
from dragoman.tuning.optimise.interpolation_weights import FLOOR, from_coordinates, gradient_by_coordinates
from dragoman.tuning.problems.problem import differences
from oracles.mixtures import noisy_problem, random_mixture_problem, random_vector, slopes


def rng(seed=1):
    return np.random.default_rng(seed)


def ranking(problem, seed=1, *, variance=0.5, concentration=1.0):
    """The loss of some pairs of candidates of a problem."""
    better, worse = rng(seed).integers(0, len(problem.features), (2, 40))
    weighed = np.array([not name.startswith("mix.") for name in problem.names])
    mixtures = [mixture.between(better, worse) for mixture in problem.mixtures]
    mean = np.where(weighed, 0.1, 0.0)
    return MixedRanking(differences(problem, better, worse), mixtures, mean, weighed, variance, concentration)


@pytest.mark.parametrize("concentration", [1.0, 3.0])
@pytest.mark.parametrize("tables", [2, 3, 5])
def test_gradients_are_those_of_the_loss(tables, concentration):
    problem = random_mixture_problem(rng(tables), tables)
    loss = ranking(problem, concentration=concentration)
    groups = [row for mixture in loss.mixtures for row in mixture.interpolation_columns]
    for seed in range(3):
        vector = random_vector(rng(seed), problem)
        gradient = loss(vector)[1]
        np.testing.assert_allclose(gradient, slopes(lambda v: loss(v)[0], vector), rtol=1e-6, atol=1e-6)
        place = vector.copy()
        for group in groups:
            place[group] = rng(seed).normal(size=len(group))
        shares = from_coordinates(place, groups)
        turned = gradient_by_coordinates(loss(shares)[1], shares, groups)
        by_steps = slopes(lambda p: loss(from_coordinates(p, groups))[0], place)
        np.testing.assert_allclose(turned, by_steps, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("fixed", [["mix."], ["mix.tm.fwd"], ["tm.bwd"], ["mix.", "tm.fwd"]])
def test_gradients_where_something_is_fixed(fixed):
    problem = random_mixture_problem(rng(4), 3, fixed=fixed)
    loss, vector = ranking(problem), random_vector(rng(1), problem)
    np.testing.assert_allclose(loss(vector)[1], slopes(lambda v: loss(v)[0], vector), rtol=1e-6, atol=1e-6)


def test_the_loss_is_that_of_the_candidates_themselves():
    problem = random_mixture_problem(rng(2), 3)
    better, worse = rng(1).integers(0, len(problem.features), (2, 40))
    vector = random_vector(rng(5), problem)
    scores = problem.model_scores(vector)
    margins = scores[better] - scores[worse]
    weights = vector[:3] - 0.1
    expected = 2 * np.logaddexp(0, -margins).sum() + weights @ weights / (2 * 0.5)
    assert ranking(problem)(vector)[0] == pytest.approx(expected)


def test_scores_of_candidates_are_sums_over_their_phrases():
    problem = random_mixture_problem(rng(3), 2)
    (mixture,) = problem.mixtures
    vector = random_vector(rng(6), problem)
    counts = mixture.counts.toarray()
    for h, score in enumerate(problem.model_scores(vector).tolist()):
        expected = problem.features.dense()[h] @ vector
        for s in range(2):
            shares = vector[mixture.interpolation_columns[s]]
            for p in np.flatnonzero(counts[h]):
                mixed = sum(shares[t] * mixture.probabilities[s, t, p] for t in range(2))
                expected += vector[1 + s] * counts[h, p] * max(np.log(max(mixed, 1e-300)), -100)
        assert score == pytest.approx(expected)


@pytest.mark.parametrize("tables", [2, 4])
def test_shares_stay_on_the_simplex_at_every_step(tables, monkeypatch):
    problem = random_mixture_problem(rng(7), tables)
    seen = []
    call = MixedRanking.__call__
    monkeypatch.setattr(MixedRanking, "__call__", lambda self, vector: seen.append(vector) or call(self, vector))
    start = random_vector(rng(8), problem)
    found = ProMix(threshold=0.0).optimise(problem, start, rng=rng())
    assert len(seen) > 5
    for vector in (*seen, found.weights):
        for row in problem.mixtures[0].interpolation_columns:
            assert vector[row].sum() == pytest.approx(1, abs=1e-9)
            assert vector[row].min() >= FLOOR - 1e-12


def test_the_share_of_noise_goes_to_its_bound():
    problem = noisy_problem(rng(9))
    start = np.array([0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    found = ProMix(variance=10).optimise(problem, start, rng=rng()).weights
    for row in problem.mixtures[0].interpolation_columns:
        assert found[row][1] == pytest.approx(FLOOR, abs=1e-3)
        assert found[row][0] > 0.99


def test_equal_tables_are_as_one_table_and_pro():
    problem = random_mixture_problem(rng(10), 2)
    (mixture,) = problem.mixtures
    same = replace(mixture, probabilities=mixture.probabilities[:, :1].repeat(2, axis=1) + 0.01)
    problem = replace(problem, mixtures=(same,))
    start = np.array([0.3, 0.3, 0.3, 0.8, 0.2, 0.4, 0.6])
    found = ProMix(threshold=0.0).optimise(problem, start, rng=rng())
    values = same.values(same.mixed(same.interpolation_weights_in(start)))
    dense = np.column_stack([problem.features.dense()[:, :1], values])
    features = FeatureRows.from_dense(problem.names[:3], dense)
    plain = Pro(threshold=0.0).optimise(
        replace(problem, features=features, mixtures=(), ranges=problem.ranges[:3]), start[:3], rng=rng()
    )
    np.testing.assert_allclose(found.weights[:3], plain.weights, rtol=1e-3, atol=1e-4)
    assert found.objective == pytest.approx(plain.objective, rel=1e-6)
    np.testing.assert_allclose(found.weights[3:], start[3:], atol=1e-3)


def test_shares_that_are_fixed_stay_and_the_rest_is_pro():
    problem = random_mixture_problem(rng(11), 3, fixed=["mix."])
    start = np.array([0.3, 0.3, 0.3])
    found = ProMix(threshold=0.0).optimise(problem, start, rng=rng())
    (mixture,) = problem.mixtures
    dense = np.column_stack(
        [problem.features.dense()[:, :1], mixture.values(mixture.mixed(mixture.interpolation_weights))]
    )
    plain = replace(problem, features=FeatureRows.from_dense(problem.names, dense), mixtures=())
    expected = Pro(threshold=0.0).optimise(plain, start, rng=rng())
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-3, atol=1e-4)


def test_a_dirichlet_prior_draws_shares_together():
    problem, start = noisy_problem(rng(9)), np.array([0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    free, drawn = (
        ProMix(variance=10, concentration=c).optimise(problem, start, rng=rng()).weights for c in (1.0, 1000.0)
    )
    assert abs(drawn[3] - 0.5) < abs(free[3] - 0.5) - 0.1


def test_it_gets_better_from_a_start_at_the_bounds():
    problem = noisy_problem(rng(9))
    start = np.array([0.1, 0.5, 0.5, 0.001, 0.999, 0.001, 0.999])
    found = ProMix(variance=10).optimise(problem, start, rng=rng()).weights
    assert found[3] > 0.9
