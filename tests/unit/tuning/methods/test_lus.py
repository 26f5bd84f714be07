import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.runtime import Runtime
from dragoman.tuning import TUNERS
from dragoman.tuning.methods import lus
from dragoman.tuning.methods.lus import Lus
from oracles.tuning_sampling_opt import random_problem, sample_one_by_one


def optimise(tuner, problem, seed=1, threads=1):
    return tuner.optimise(problem, np.full(4, 0.5), rng=np.random.default_rng(seed), runtime=Runtime(threads=threads))


@pytest.mark.parametrize("alpha", [0.0, 0.01, 1 / 3, 2.0])
@pytest.mark.parametrize("digits", [1, 6])
def test_does_what_sampling_one_by_one_does(alpha, digits):
    problem = random_problem(3, sentences=30, digits=digits)
    ours = optimise(Lus(alpha=alpha, samples=400, starts=1), problem)
    stream = np.random.default_rng(1).spawn(1)[0]
    weights, objective = sample_one_by_one(problem, np.full(4, 0.5), 400, alpha, stream)
    assert ours.objective == objective
    # The oracle multiplies by q each time, which rounds a little differently.
    np.testing.assert_allclose(ours.weights, weights, rtol=1e-12, atol=1e-13)


def test_the_box_shrinks_by_q_with_each_failure():
    width = np.array([2.0, 1.0, 0.5, 0.0])
    for alpha in (0.0, 0.01, 1 / 3):
        boxes = Lus(alpha=alpha).reach(width, np.array([0, 1, 5000]))
        q = 2 ** (-alpha / 4)
        np.testing.assert_allclose(boxes, [width, width * q, width * q**5000], rtol=1e-12)
    assert Lus(alpha=0.01).reach(width, np.array([400])).tolist() == [[1.0, 0.5, 0.25, 0.0]]


@pytest.mark.parametrize("samples", [100, 5000])
def test_the_final_box_does_not_depend_on_the_number_of_samples(samples):
    width = np.array([2.0, 1.0, 0.5])
    tuner = Lus(final_box=0.001, samples=samples, alpha=0.3)
    halfway = np.array([0, samples // 2, samples])
    np.testing.assert_allclose(tuner.reach(width, halfway), width * np.array([[1], [0.001**0.5], [0.001]]), rtol=1e-12)
    problem = random_problem(3, sentences=30)
    # With m features, alpha has the same effect if it is m log2(1 / final_box) / samples.
    alpha = 4 * np.log2(1000) / samples
    ours, theirs = (
        optimise(Lus(final_box=0.001, samples=samples, starts=1), problem),
        optimise(Lus(alpha=alpha, samples=samples, starts=1), problem),
    )
    assert ours.objective == theirs.objective


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("seed", range(3))
def test_never_worse_than_the_start(seed, sign):
    problem = random_problem(seed, sentences=20, sign=sign)
    start = np.full(4, 0.5)
    for samples in (1, 30):
        found = optimise(Lus(samples=samples, starts=3), problem, seed)
        assert found.objective >= problem.objective(start)
        assert found.objective == problem.objective(found.weights)


def test_more_starts_are_never_worse_and_the_first_is_the_given_one():
    problem = random_problem(1, sentences=40, most=20, digits=3)
    one, four = (optimise(Lus(samples=200, starts=starts), problem) for starts in (1, 4))
    assert four.objective >= one.objective


@pytest.mark.parametrize("sizes", [(1, 1), (16, 16), (3, 1000)])
def test_neither_threads_nor_batches_matter(monkeypatch, sizes):
    problem = random_problem(2, sentences=60, most=40, digits=4)
    tuner = Lus(samples=500, starts=2, alpha=0.05)
    expected = optimise(tuner, problem)
    assert optimise(tuner, problem, threads=2).weights.tolist() == expected.weights.tolist()
    monkeypatch.setattr(lus, "_SMALLEST_BATCH", sizes[0])
    monkeypatch.setattr(lus, "_LARGEST_BATCH", sizes[1])
    again = optimise(tuner, problem)
    assert again.weights.tolist() == expected.weights.tolist()
    assert again.objective == expected.objective


def test_seeds_matter():
    problem = random_problem(2, sentences=60, most=40, digits=4)
    found = [optimise(Lus(samples=50, starts=1), problem, seed).weights.tolist() for seed in (1, 2)]
    assert found[0] != found[1]


def test_one_candidate_each():
    problem = random_problem(0, most=1)
    found = optimise(Lus(starts=2), problem)
    assert found.weights.tolist() == [0.5] * 4
    assert found.objective == problem.objective(np.zeros(4))


def test_changes_nothing_it_is_given():
    problem, start = random_problem(0), np.full(4, 0.5)
    features = problem.features.values.copy()
    found = Lus(samples=20).optimise(problem, start, rng=np.random.default_rng(0))
    found.weights[:] = 7
    assert start.tolist() == [0.5] * 4
    assert problem.features.values.tolist() == features.tolist()


def test_is_registered_and_checks_its_options():
    assert TUNERS.get("lus") is Lus
    with pytest.raises(UsageError, match="alpha is -1"):
        Lus(alpha=-1.0)
