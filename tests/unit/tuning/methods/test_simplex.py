import numpy as np
import pytest
from scipy.optimize import minimize

from dragoman.core.runtime import Runtime
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.simplex import Simplex, climb
from oracles.tuning_sampling_opt import random_problem

FUNCTIONS = {
    "bowl": lambda x: ((x - np.arange(len(x))) ** 2 * (1 + np.arange(len(x)))).sum(),
    "valley": lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(),
    "waves": lambda x: (x**2 + np.sin(5 * x)).sum(),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dimensions", [2, 5])
@pytest.mark.parametrize("steps", [1, 10, 40, 120])
def test_is_that_of_scipy(function, dimensions, steps):
    f = FUNCTIONS[function]
    simplex = np.random.default_rng(dimensions).uniform(-2, 2, (dimensions + 1, dimensions))
    ours = climb(lambda points: -np.array([f(x) for x in points]), simplex.copy(), 0.0, steps)
    # Its iterations count from 1.
    limits = {"initial_simplex": simplex, "maxiter": steps + 1, "maxfev": 10**6, "xatol": 0, "fatol": 0}
    theirs = minimize(f, simplex[0], method="Nelder-Mead", options=limits)
    assert ours.objective == pytest.approx(-theirs.fun, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(ours.weights, theirs.x, rtol=1e-6, atol=1e-7)


def test_finds_the_top_of_a_hill_and_stops_there():
    calls = []

    def hill(points):
        calls.append(len(points))
        return -((points - [1.0, -2.0, 0.5]) ** 2).sum(axis=1)

    found = climb(hill, np.eye(4, 3), 1e-7, 10_000)
    np.testing.assert_allclose(found.weights, [1, -2, 0.5], atol=1e-6)
    assert len(calls) < 1000


def test_a_plateau_ends():
    calls = []

    def plateau(points):
        calls.append(len(points))
        return np.zeros(len(points))

    start = np.eye(3, 2)
    assert climb(plateau, start.copy(), 1e-4, 10_000).weights.tolist() == start[0].tolist()
    # 14 halvings make 1 smaller than 0.0001; each is a try and a shrinking.
    assert len(calls) == 1 + 2 * 14


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("seed", range(3))
def test_never_worse_than_the_start(seed, sign):
    problem = random_problem(seed, sentences=20, digits=3, sign=sign)
    start = np.full(4, 0.5)
    found = Simplex().optimise(problem, start, rng=np.random.default_rng(seed))
    assert found.objective >= problem.objective(start)
    assert found.objective == problem.objective(found.weights)
    more = Simplex(starts=3).optimise(problem, start, rng=np.random.default_rng(seed))
    assert more.objective >= found.objective
    assert start.tolist() == [0.5] * 4


def test_same_seed_same_result_in_any_number_of_threads():
    problem = random_problem(1, sentences=200, most=100, digits=4)
    found = [
        Simplex().optimise(problem, np.zeros(4), rng=np.random.default_rng(5), runtime=Runtime(threads=threads))
        for threads in (1, 2)
    ]
    assert found[0].weights.tolist() == found[1].weights.tolist()


def test_one_candidate_each():
    problem = random_problem(0, most=1)
    found = Simplex().optimise(problem, np.full(4, 0.5), rng=np.random.default_rng(0))
    assert found.weights.tolist() == [0.5] * 4


def test_is_registered():
    assert TUNERS.get("simplex") is Simplex
