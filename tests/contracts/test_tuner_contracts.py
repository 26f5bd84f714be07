"""What every tuning method promises; a new file in `tuning/` inherits these tests."""

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.runtime import Runtime
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.optimise.interpolation_weights import FLOOR
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.mixtures import MixtureProblem
from dragoman.tuning.problems.problem import Problem
from oracles.mixtures import noisy_problem
from oracles.toy_decoder import NAMES, ToyDecoder, as_graphs, task_for, task_of

FEWER = {"lus": {"samples": 500, "starts": 2}}
OPTIMISERS = [name for name in TUNERS.names() if issubclass(TUNERS.get(name), Tuner)]
MIXERS = [name for name in OPTIMISERS if TUNERS.get(name).takes(MixtureProblem)]
START = np.array([0.1, -0.5, 0.3])


def tuner(name):
    return TUNERS.get(name)(**FEWER.get(name, {}))


@pytest.fixture
def problem(name):
    """What the method would see, of the kind that it takes."""
    task = task_for(ToyDecoder(sentences=15, size=40), tuner(name))
    decoded = task.decoder(Weights(dict(zip(NAMES, START.tolist(), strict=True))), runtime=Runtime())
    return decoded.problem(NAMES, task.ranges, task.scorer)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMISERS)
def test_same_seed_same_weights_whatever_the_threads(name, problem):
    found = [
        tuner(name).optimise(problem, START, rng=np.random.default_rng(7), runtime=Runtime(threads=threads)).weights
        for threads in (1, 2, 3, 1)
    ]
    for weights in found[1:]:
        np.testing.assert_array_equal(weights, found[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMISERS)
def test_nothing_given_is_changed(name, problem):
    start, values, objective = START.copy(), problem.features.values.copy(), problem.objective(START)
    tuner(name).optimise(problem, start, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(start, START)
    np.testing.assert_array_equal(problem.features.values, values)
    assert problem.objective(START) == objective


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_toy_problem_gets_better(name, problem):
    found = tuner(name).optimise(problem, START, rng=np.random.default_rng(1))
    assert np.isfinite(found.weights).all()
    assert problem.objective(found.weights) > problem.objective(START)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_evidence_of_a_kind_that_it_does_not_take_is_refused(name):
    chosen = tuner(name)
    assert chosen.takes(Problem) or chosen.takes(HypergraphProblem)
    task = task_of(ToyDecoder(sentences=2, size=5))
    lists = task.decoder(Weights(), runtime=Runtime())
    refused = [(lists, "works on hypergraphs only")] * (not chosen.takes(Problem))
    refused += [(as_graphs(lists), "works on lists of candidates only")] * (not chosen.takes(HypergraphProblem))
    for decoded, why in refused:
        with pytest.raises(UsageError, match=f"{name} {why}"):
            chosen.optimise(decoded.problem(NAMES, task.ranges, task.scorer), START, rng=np.random.default_rng(1))


@pytest.mark.parametrize("name", OPTIMISERS)
def test_bad_starts_are_refused(name, problem):
    with pytest.raises(UsageError, match="2 weights to start from; expected 3"):
        tuner(name).optimise(problem, START[:2], rng=np.random.default_rng(1))
    with pytest.raises(UsageError, match="not a finite number"):
        tuner(name).optimise(problem, np.array([0, np.nan, 0]), rng=np.random.default_rng(1))


@pytest.mark.parametrize("name", MIXERS)
def test_shares_of_mixed_tables_are_tuned_with_the_weights(name):
    problem = noisy_problem(np.random.default_rng(3))
    start = np.array([0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    found = [
        tuner(name).optimise(problem, start, rng=np.random.default_rng(7), runtime=Runtime(threads=threads)).weights
        for threads in (1, 2)
    ]
    np.testing.assert_array_equal(*found)
    assert problem.objective(found[0]) > problem.objective(start)
    shares = found[0][problem.mixtures[0].interpolation_columns]
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
    assert shares.min() >= FLOOR - 1e-12
    assert shares[:, 1].sum() < 0.8  # the second table is noise


@pytest.mark.parametrize("name", TUNERS.names())
def test_options_round_trip_and_the_docstring_says_what_it_is(name):
    chosen = TUNERS.get(name)
    assert chosen.from_dict(chosen().to_dict()) == chosen()
    assert chosen.name == name
    assert len(chosen.__doc__) > 100
