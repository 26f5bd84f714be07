from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.progress import DragomanWarning
from dragoman.core.runtime import Runtime
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.risk_nbest import ExpectedMixture, ExpectedScore, RiskNbest
from dragoman.tuning.optimise.interpolation_weights import FLOOR, to_coordinates
from oracles.mixtures import noisy_problem, random_mixture_problem, random_vector, slopes
from oracles.tuning_sampling_opt import random_problem

WEIGHTS = np.array([0.4, -1.1, 0.3, 0.8])


@pytest.mark.parametrize("temperature", [0.0, 0.7, 20.0])
@pytest.mark.parametrize("gamma", [0.3, 1.0, 6.0])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
def test_gradients_are_those_of_finite_differences(temperature, gamma, sparse, sign):
    risk = ExpectedScore(random_problem(4, sentences=20, sparse=sparse, sign=sign))
    value, gradient = risk(WEIGHTS, gamma, temperature)
    step = 1e-5
    for i in range(4):
        up, down = (risk(WEIGHTS + way * step * np.eye(4)[i], gamma, temperature)[0] for way in (1, -1))
        assert gradient[i] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-6)
    assert np.isfinite(value)


def test_expectations_are_the_textbook_ones():
    problem = random_problem(2)
    scores = 1.7 * problem.model_scores(WEIGHTS)
    expected, entropy = np.zeros(6), 0.0
    for begin, end in zip(problem.sentences[:-1], problem.sentences[1:], strict=True):
        p = np.exp(scores[begin:end]) / np.exp(scores[begin:end]).sum()
        expected += p @ problem.statistics[begin:end]
        entropy -= (p * np.log(p)).sum()
    value, _ = ExpectedScore(problem)(WEIGHTS, 1.7, 5.0)
    assert value == pytest.approx(problem.scorer.smooth_score(expected)[0] + 5 * entropy / 12, rel=1e-12)


def test_gamma_without_limit_gives_the_best_candidates():
    problem = random_problem(6, digits=8, copies=0)
    value, gradient = ExpectedScore(problem)(WEIGHTS, 1e9, 3.0)
    best = problem.statistics[problem.best(WEIGHTS)].sum(axis=0)
    assert value == pytest.approx(problem.scorer.smooth_score(best)[0], rel=1e-12)
    assert value == pytest.approx(problem.objective(WEIGHTS), rel=1e-3)
    assert not gradient.any()


def test_no_gamma_gives_the_uniform_distribution():
    problem = random_problem(6)
    counts = np.diff(problem.sentences)
    mean = np.add.reduceat(problem.statistics, problem.sentences[:-1]) / counts[:, None]
    value, gradient = ExpectedScore(problem)(WEIGHTS, 0.0, 2.0)
    expected = problem.scorer.smooth_score(mean.sum(axis=0))[0] + 2 * np.log(counts).mean()
    assert value == pytest.approx(expected, rel=1e-12)
    assert not gradient.any()


def test_huge_scores_do_not_overflow():
    risk = ExpectedScore(random_problem(1))
    value, gradient = risk(WEIGHTS * 1e300, 1.0, 1.0)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.slow
def test_improves_and_ends_near_the_metric():
    problem = random_problem(9, sentences=60, most=20, digits=8)
    start = np.zeros(4)
    found = RiskNbest().optimise(problem, start, rng=np.random.default_rng(0))
    assert problem.objective(found.weights) > problem.objective(start) + 1
    # Sharp at the end: the expected score is that of the best candidates, up to smoothing and close calls.
    assert found.objective == pytest.approx(problem.objective(found.weights), abs=0.5)
    assert not start.any()


def test_the_schedule_cools_and_then_quenches():
    tuner = RiskNbest(temperature=4.0, coldest=1.0, cooling=0.5, doublings=2)
    assert tuner.schedule() == [(1, 4), (1, 2), (1, 1), (2, 0), (4, 0)]
    assert RiskNbest(temperature=0.0, coldest=0.0, doublings=0).schedule() == [(1, 0)]


@pytest.mark.slow
def test_the_length_of_the_weights_is_that_of_annealing():
    problem = random_problem(9, sentences=60, most=20, digits=8)
    annealed, quenched = (
        RiskNbest(doublings=doublings).optimise(problem, WEIGHTS, rng=np.random.default_rng(0)).weights
        for doublings in (0, 4)
    )
    assert np.linalg.norm(quenched) == pytest.approx(np.linalg.norm(annealed), rel=1e-12)
    assert not np.allclose(annealed, quenched)


def test_entropy_alone_makes_lists_flat():
    problem = random_problem(5)
    tuner = RiskNbest(temperature=1e6, coldest=1e6, doublings=0)
    found = tuner.optimise(problem, WEIGHTS, rng=np.random.default_rng(0))
    assert np.abs(found.weights).max() < 1e-3


@pytest.mark.slow
def test_neither_threads_nor_the_random_stream_matter():
    problem = random_problem(3, sentences=50, most=30, digits=5)
    found = [
        RiskNbest()
        .optimise(problem, WEIGHTS, rng=np.random.default_rng(threads), runtime=Runtime(threads=threads))
        .weights.tolist()
        for threads in (1, 2, 5)
    ]
    assert found[0] == found[1] == found[2]


def test_one_candidate_each():
    problem = random_problem(0, most=1)
    found = RiskNbest().optimise(problem, WEIGHTS, rng=np.random.default_rng(0))
    assert found.weights == pytest.approx(WEIGHTS)
    with pytest.warns(DragomanWarning, match="no direction"):
        zero = RiskNbest().optimise(problem, np.zeros(4), rng=np.random.default_rng(0))
    assert not zero.weights.any()


def test_refuses_metrics_that_are_not_smooth():
    with pytest.raises(UsageError, match="needs a metric that is a smooth function"):
        RiskNbest().optimise(random_problem(0, whole=False), WEIGHTS, rng=np.random.default_rng(0))


def test_is_registered():
    assert TUNERS.get("risk-nbest") is RiskNbest


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("fixed", [(), ("mix.tm.fwd",)])
@pytest.mark.parametrize(("gamma", "temperature", "concentration"), [(1.0, 5.0, 1.0), (6.0, 0.0, 1.0), (1.0, 1.0, 3.0)])
@pytest.mark.parametrize("tables", [2, 3, 5])
def test_gradients_by_weights_and_shares_are_those_of_finite_differences(
    tables, gamma, temperature, concentration, fixed
):
    problem = random_mixture_problem(rng(tables), tables, fixed=fixed)
    risk = ExpectedMixture(problem, concentration)
    for seed in range(3):
        place = to_coordinates(random_vector(rng(seed), problem), risk.groups)
        gradient = risk(place, gamma, temperature)[1]
        by_steps = slopes(lambda p: risk(p, gamma, temperature)[0], place, 1e-5)
        np.testing.assert_allclose(gradient, by_steps, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_fixed_shares_give_the_same_as_plain_features(sign):
    problem = replace(random_mixture_problem(rng(11), 3, fixed=["mix."]), sign=sign)
    (mixture,) = problem.mixtures
    dense = np.column_stack(
        [problem.features.dense()[:, :1], mixture.values(mixture.mixed(mixture.interpolation_weights))]
    )
    plain = random_problem(0)
    plain = replace(
        plain,
        sentences=problem.sentences,
        features=FeatureRows.from_dense(problem.names, dense),
        statistics=problem.statistics,
        scorer=problem.scorer,
        ranges=problem.ranges,
        sign=sign,
    )
    weights = np.array([0.3, -0.2, 0.5])
    for gamma, temperature in ((1.0, 4.0), (8.0, 0.0)):
        value, gradient = ExpectedMixture(problem)(weights, gamma, temperature)
        expected, other = ExpectedScore(plain)(weights, gamma, temperature)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient, other, rtol=1e-9, atol=1e-12)


def test_the_share_of_noise_falls_and_shares_stay_on_the_simplex(monkeypatch):
    problem = noisy_problem(rng(9))
    (mixture,) = problem.mixtures
    seen, interpolation_weights_in = [], type(mixture).interpolation_weights_in
    monkeypatch.setattr(
        type(mixture),
        "interpolation_weights_in",
        lambda self, v: seen.append(v.copy()) or interpolation_weights_in(self, v),
    )
    start = np.array([0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    found = RiskNbest().optimise(problem, start, rng=rng())
    for row in mixture.interpolation_columns:
        assert found.weights[row][1] == pytest.approx(FLOOR, abs=1e-3)
    assert problem.objective(found.weights) > problem.objective(start) + 1
    assert len(seen) > 5
    for vector in (*seen, found.weights):
        for row in mixture.interpolation_columns:
            assert vector[row].sum() == pytest.approx(1, abs=1e-9)
            assert vector[row].min() >= FLOOR - 1e-12
    drawn = RiskNbest(concentration=100.0).optimise(problem, start, rng=rng()).weights
    assert abs(drawn[3] - 0.5) < 0.2


def test_quenching_keeps_the_length_of_weights_and_moves_shares():
    problem = random_mixture_problem(rng(5), 3)
    start = random_vector(rng(2), problem)
    annealed, quenched = (
        RiskNbest(doublings=doublings).optimise(problem, start, rng=rng()).weights for doublings in (0, 4)
    )
    assert np.linalg.norm(quenched[:3]) == pytest.approx(np.linalg.norm(annealed[:3]), rel=1e-12)
    assert not np.allclose(annealed[3:], quenched[3:])


def test_mixtures_need_a_smooth_metric_too():
    problem = replace(random_mixture_problem(rng(5), 2), scorer=random_problem(0, whole=False).scorer)
    with pytest.raises(UsageError, match="needs a metric that is a smooth function"):
        RiskNbest().optimise(problem, random_vector(rng(2), problem), rng=rng())
