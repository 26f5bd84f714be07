from threading import Event
from typing import ClassVar

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.tuning.optimise.line_search import LineAscent, Place, line_search, line_searches, prepare_line_searches
from dragoman.tuning.problems.problem import Problem
from oracles.tuning_mert import ToyBleu, crossings, random_problem


def directions(rng, features):
    """Axes, some with another length or sign, anything, and nowhere."""
    axis = np.eye(features)[int(rng.integers(features))]
    return [axis, -2 * axis, rng.normal(size=features), rng.integers(-1, 2, features).astype(float), np.zeros(features)]


@pytest.mark.parametrize("seed", range(40))
def test_a_line_is_what_evaluating_every_piece_gives(seed):
    rng = np.random.default_rng(seed)
    features = int(rng.integers(1, 5))
    problem = random_problem(rng, int(rng.integers(1, 8)), features)
    weights = rng.integers(-2, 3, features).astype(float) if seed % 2 else rng.normal(size=features)
    for direction in directions(rng, features):
        line = line_search(problem, weights, direction)
        assert (np.diff(line.breaks) > 0).all()
        assert len(line.scores) == len(line.breaks) + 1
        known = crossings(problem, weights, direction)
        ends = np.concatenate([[-1e3], known, [1e3]])
        # Between crossings no candidate overtakes another; pieces of rounding are left out.
        for t in ((ends[1:] + ends[:-1]) / 2)[np.diff(ends) > 1e-9]:
            # Candidates that are equal all along the line may differ by rounding, unless they are the same.
            if not near_tie(problem, weights + t * direction):
                assert line.at(float(t)) == pytest.approx(problem.objective(weights + t * direction), abs=1e-9)
        for found in line.breaks:
            assert np.abs(known - found).min() < 1e-9 * max(1, abs(found))


def near_tie(problem, weights):
    """Whether the best two different candidates of a sentence are told apart by rounding alone."""
    scores, features = problem.model_scores(weights), problem.features.dense()
    for begin, end, best in zip(problem.sentences[:-1], problem.sentences[1:], problem.best(weights), strict=True):
        close = begin + np.flatnonzero(np.abs(scores[begin:end] - scores[best]) < 1e-10)
        if (features[close] != features[best]).any():
            return True
    return False


def test_large_problems_sort_their_breaks_as_small_ones_do():
    rng = np.random.default_rng(5)
    problem = random_problem(rng, 400, 3, most=30)
    weights, direction = rng.normal(size=3), rng.normal(size=3)
    line = line_search(problem, weights, direction)
    assert len(line.breaks) > 500
    ends = np.concatenate([line.breaks[:1] - 1, line.breaks, line.breaks[-1:] + 1])
    middles = (ends[1:] + ends[:-1]) / 2
    for i in np.flatnonzero(np.diff(ends) > 1e-9):
        assert line.scores[i] == pytest.approx(problem.objective(weights + middles[i] * direction), abs=1e-9)


def test_many_breaks_at_almost_the_same_place_are_put_in_order():
    shifts = np.random.default_rng(1).permutation(3000) * 1e-12
    features = np.zeros((6000, 2))
    features[0::2, 0] = 1 + shifts
    features[1::2, 1] = 1
    statistics = np.tile([[1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]], (3000, 1))
    problem = Problem(
        np.arange(0, 6001, 2), FeatureRows.from_dense(["a", "b"], features), statistics, ToyBleu(), np.zeros((2, 2))
    )
    line = line_search(problem, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    np.testing.assert_allclose(line.breaks, 1 + np.unique(shifts), rtol=0, atol=1e-15)
    assert (np.diff(line.scores) < 0).all()


def test_of_equal_candidates_the_first_one_counts():
    features = FeatureRows.from_dense(["f"], np.array([[1.0], [2.0], [2.0], [1.0], [1.0]]))
    statistics = np.array([[k, 10.0, 10.0, 10.0] for k in (1.0, 2.0, 3.0, 4.0, 5.0)])
    problem = Problem(np.array([0, 5]), features, statistics, ToyBleu(), np.zeros((1, 2)))
    line = line_search(problem, np.array([0.5]), np.array([1.0]))
    assert line.breaks.tolist() == [-0.5]
    assert line.scores.tolist() == [float(ToyBleu().score(statistics[row])) for row in (0, 1)]


def test_breaks_where_statistics_stay_the_same_are_no_breaks():
    features = FeatureRows.from_dense(["f"], np.array([[-1.0], [0.0], [1.0]]))
    statistics = np.array([[1.0, 2.0, 3.0, 4.0]] * 3)
    problem = Problem(np.array([0, 3]), features, statistics, ToyBleu(), np.zeros((1, 2)))
    line = line_search(problem, np.array([1.0]), np.array([1.0]))
    assert len(line.breaks) == 0
    assert line.at(-5.0) == line.at(5.0) == problem.objective(np.array([1.0]))


@pytest.mark.parametrize("seed", range(10))
def test_a_point_reached_by_a_step_is_the_point_of_its_weights(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 6, 3)
    lines, weights = prepare_line_searches(problem), rng.normal(size=3)
    for direction in (np.array([0.0, 1.0, 0.0]), rng.normal(size=3)):
        moved, anew = lines.at(weights).moved(0.3, direction), lines.at(weights + 0.3 * direction)
        assert moved.sums.tolist() == anew.sums.tolist()
        assert problem.sign * problem.scorer.score(anew.sums) == [problem.objective(weights + 0.3 * direction)]
        expected, found = line_searches(lines, [anew, moved], [direction, direction])
        for i in np.flatnonzero(np.isfinite(expected.low + expected.high) & (expected.high - expected.low > 1e-9)):
            assert found.at((expected.low + expected.high)[i] / 2) == expected.scores[i]


def test_vectors_of_another_size_are_refused():
    problem = random_problem(np.random.default_rng(0), 2, 3)
    with pytest.raises(UsageError, match="there are 2 weights and a direction of 3 for 3 features"):
        line_search(problem, np.zeros(2), np.zeros(3))


def test_weights_too_large_for_numbers_are_refused():
    problem = random_problem(np.random.default_rng(0), 2, 3)
    with pytest.raises(DataError, match="too large"), np.errstate(over="ignore"):
        line_search(problem, np.full(3, 1e308) * 10, np.ones(3))


class Overrated(LineAscent):
    """Finds a move in every round that turns out not to gain."""

    def _move(self, lines, at, directions):
        return [place._replace(weights=place.weights + 1, objective=place.objective + 1) for place in at]

    def _places(self, lines, weights, smoothed):
        return [Place(one, None, 7.0) for one in weights]


def test_climbs_end_where_they_were_if_no_move_really_gains():
    settings = {"random_directions": 1, "best_of_round": False, "smoothing": "none", "window": 1, "min_gain": 0.0}
    ends = Overrated(**settings, max_rounds=3).climb(None, np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(2), Event())
    assert [place.weights.tolist() for place in ends] == [[1.0, 2.0], [3.0, 4.0]]


class Watched(LineAscent):
    """Notes each direction that is searched, and whether it led to a move; for one start."""

    searches: ClassVar[list[tuple[bytes, bool]]] = []

    def climb(self, lines, starts, directions, stop):
        self.searches.clear()
        return super().climb(lines, starts, directions, stop)

    def _move(self, lines, at, directions):
        found = super()._move(lines, at, directions)
        self.searches.append((directions.tobytes(), found[0] is not at[0]))
        return found


def test_no_direction_is_searched_twice_without_a_move_between():
    settings = {"random_directions": 2, "best_of_round": False, "smoothing": "none", "window": 1, "min_gain": 1e-4}
    ascent, moves = Watched(**settings, max_rounds=100), 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        lines = prepare_line_searches(random_problem(rng, 20, 4))
        ascent.climb(lines, rng.normal(size=(1, 4)), rng.normal(size=(4, 4)), Event())
        searched = set()
        for direction, moved in ascent.searches:
            assert direction not in searched
            searched = {direction} if moved else searched | {direction}
            moves += moved
    assert moves > 10
