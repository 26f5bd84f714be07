import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.runtime import Runtime
from dragoman.tuning.problems.problem import Evaluator, Problem
from oracles.tuning_sampling_opt import SmoothBleu, random_problem

VARIANTS = {
    "dense": {},
    "fine": {"digits": 12},
    "error rate": {"sign": -1},
    "repeated features": {"sparse": True},
    "fractions": {"whole": False, "digits": 3},
    "one candidate each": {"most": 1},
    "one feature": {"features": 1},
    "long lists": {"most": 150, "sentences": 30, "digits": 2},
    "wide": {"features": 40, "sentences": 20},
}


def assert_same(evaluator, problem, weights):
    assert evaluator.best(weights).tolist() == [problem.best(w).tolist() for w in weights]
    assert evaluator.objectives(weights).tolist() == [problem.objective(w) for w in weights]


def weights_with_ties(problem, rng, count):
    weights = rng.uniform(-1, 1, (count, len(problem.names)))
    weights[: count // 3] = np.round(weights[: count // 3])
    weights[count // 3 : count // 2] = np.round(weights[count // 3 : count // 2], 1)
    return weights


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(4))
def test_is_exactly_the_objective(variant, seed):
    problem = random_problem(seed, **VARIANTS[variant])
    weights = weights_with_ties(problem, np.random.default_rng(seed), 37)
    assert_same(Evaluator(problem), problem, weights)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("width", [2.0, 0.3, 0.02, 1e-4, 1e-9, 0.0])
def test_is_exactly_the_objective_in_boxes(variant, width):
    problem = random_problem(5, **VARIANTS[variant])
    rng = np.random.default_rng(1)
    evaluator = Evaluator(problem)
    for centre in weights_with_ties(problem, rng, 6):
        evaluator.focus(centre - width, centre + width)
        assert_same(evaluator, problem, centre + width * rng.uniform(-1, 1, (20, len(centre))))
        assert_same(evaluator, problem, centre[None])
        # Weights outside the box must not be looked up among its candidates only.
        assert_same(evaluator, problem, -centre[None])


def test_a_shrinking_box_leaves_out_more_and_more():
    problem = random_problem(2, sentences=50, most=60, digits=12)
    evaluator = Evaluator(problem)
    left = []
    for width in (1.0, 0.3, 0.1, 0.01, 1e-6):
        evaluator.focus(np.full(4, 0.5) - width, np.full(4, 0.5) + width)
        left.append(evaluator.open_candidates())
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("size", [1e-40, 1.0, 1e25, 1e38, 1e100])
def test_extreme_magnitudes(scale, size):
    plain = random_problem(3, digits=3)
    features = plain.features
    features = FeatureRows(features.names, features.offsets, features.ids, features.values * size)
    problem = Problem(plain.sentences, features, plain.statistics, plain.scorer, plain.ranges)
    weights = scale * np.random.default_rng(0).uniform(-1, 1, (20, 4))
    evaluator = Evaluator(problem)
    evaluator.focus(weights.min(axis=0), weights.max(axis=0))
    assert_same(evaluator, problem, weights)


def test_scores_that_differ_by_rounding_only():
    # 0.1 + 0.2 > 0.3 in float64, and 0.3 + 0.2 + 0.1 < 0.1 + 0.2 + 0.3: float32 cannot tell.
    values = np.array([0.3, 0.1, 0.2, 0.3, 0.2, 0.1, 0.1, 0.2, 0.3])
    offsets = np.array([0, 1, 3, 6, 9])
    features = FeatureRows(("a",), offsets, np.zeros(9, np.int32), values)
    problem = Problem(np.array([0, 2, 4]), features, np.ones((4, 6)), SmoothBleu(), np.array([[0.0, 1.0]]))
    evaluator = Evaluator(problem)
    assert evaluator.best(np.array([[1.0], [-1.0], [0.0]])).tolist() == [[1, 3], [0, 2], [0, 2]]
    evaluator.focus(np.array([0.9]), np.array([1.1]))
    assert evaluator.best(np.array([[1.0]])).tolist() == [[1, 3]]


@pytest.mark.parametrize("whole", [True, False])
def test_neither_threads_nor_batches_matter(whole):
    problem = random_problem(7, sentences=200, most=120, features=5, digits=2, whole=whole)
    weights = weights_with_ties(problem, np.random.default_rng(0), 100)
    one, two = Evaluator(problem, runtime=Runtime(threads=1)), Evaluator(problem, runtime=Runtime(threads=2))
    together = one.objectives(weights)
    assert two.objectives(weights).tolist() == together.tolist()
    assert [one.objectives(w[None])[0] for w in weights] == together.tolist()
    for evaluator in (one, two):
        evaluator.focus(np.full(5, -0.1), np.full(5, 0.1))
    assert one.open_candidates() == two.open_candidates()
    assert one.objectives(weights / 10).tolist() == two.objectives(weights / 10).tolist()


@pytest.mark.parametrize("whole", [True, False])
def test_no_weights_at_all(whole):
    problem = random_problem(0, whole=whole)
    assert Evaluator(problem).objectives(np.empty((0, 4))).shape == (0,)


def test_refuses_what_are_no_weights():
    evaluator = Evaluator(random_problem(0))
    with pytest.raises(UsageError, match=r"shape \(1, 3\); expected rows of 4"):
        evaluator.objectives(np.ones((1, 3)))
    with pytest.raises(DataError, match="not a finite number"):
        evaluator.objectives(np.array([[1.0, np.nan, 0, 0]]))
