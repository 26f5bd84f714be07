"""What every tuning method promises; a new file in `tuning/` inherits these tests."""

import numpy as np
import pytest

from dragoman.core.progress import SILENT
from dragoman.core.weights import Weights
from dragoman.tuning import TUNERS
from dragoman.tuning.tuner import Tuner
from oracles.toy_decoder import NAMES, ToyDecoder, task_of

FEWER = {"lus": {"samples": 500, "starts": 2}}
OPTIMISERS = [name for name in TUNERS.names() if issubclass(TUNERS.get(name), Tuner)]
START = np.array([0.1, -0.5, 0.3])


def tuner(name):
    return TUNERS.get(name)(**FEWER.get(name, {}))


@pytest.fixture
def problem():
    decoder = ToyDecoder(sentences=15, size=40)
    task = task_of(decoder)
    decoded = decoder(Weights(dict(zip(NAMES, START.tolist(), strict=True))), SILENT)
    return decoded.problem(NAMES, task.ranges, task.scorer)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_same_seed_same_weights_whatever_the_threads(name, problem):
    found = [
        tuner(name).optimise(problem, START, rng=np.random.default_rng(7), threads=threads).weights
        for threads in (1, 2, 3, 1)
    ]
    for weights in found[1:]:
        np.testing.assert_array_equal(weights, found[0])


@pytest.mark.parametrize("name", OPTIMISERS)
def test_nothing_given_is_changed(name, problem):
    start, values, statistics = START.copy(), problem.features.values.copy(), problem.statistics.copy()
    tuner(name).optimise(problem, start, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(start, START)
    np.testing.assert_array_equal(problem.features.values, values)
    np.testing.assert_array_equal(problem.statistics, statistics)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_toy_problem_gets_better(name, problem):
    found = tuner(name).optimise(problem, START, rng=np.random.default_rng(1))
    assert np.isfinite(found.weights).all()
    assert problem.objective(found.weights) > problem.objective(START)


@pytest.mark.parametrize("name", TUNERS.names())
def test_options_round_trip_and_the_docstring_says_what_it_is(name):
    chosen = TUNERS.get(name)
    assert chosen.from_dict(chosen().to_dict()) == chosen()
    assert chosen.name == name
    assert len(chosen.__doc__) > 100
