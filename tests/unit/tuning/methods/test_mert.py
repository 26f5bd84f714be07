import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.runtime import Runtime
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.mert import Mert
from dragoman.tuning.optimise.line_search import Line, LineAscent, line_search, middle, smooth
from oracles.elsewhere import Elsewhere
from oracles.tuning_mert import random_problem

VARIANTS = [Mert(restarts=3), Mert(restarts=2, moves="best"), Mert(restarts=0, random_directions=0)]


def optimise(tuner, problem, start, seed=0, **options):
    return tuner.optimise(problem, start, rng=np.random.default_rng(seed), **options)


def test_it_is_registered():
    assert TUNERS.get("mert") is Mert


@pytest.mark.parametrize("tuner", VARIANTS)
@pytest.mark.parametrize("seed", range(8))
def test_the_result_is_an_optimum_along_all_axes_and_no_worse_than_the_start(tuner, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 8, 3)
    start = rng.normal(size=3)
    before = start.copy()
    found = optimise(tuner, problem, start)
    assert start.tolist() == before.tolist()
    assert found.objective == pytest.approx(problem.objective(found.weights), abs=1e-9)
    assert found.objective >= problem.objective(start)
    assert np.abs(found.weights).sum() == pytest.approx(1)
    for axis in np.eye(3):
        line = line_search(problem, found.weights, axis)
        wide = line.high - line.low > 1e-6
        assert line.scores[wide].max() <= found.objective + 2e-4


@pytest.mark.parametrize("seed", range(8))
def test_two_features_are_solved_exactly(seed):
    problem = replace(random_problem(np.random.default_rng(seed), 6, 2), sign=1)
    angles = np.linspace(0, 2 * np.pi, 2000)
    grid = max(problem.objective(np.array([np.cos(angle), np.sin(angle)])) for angle in angles)
    assert optimise(Mert(restarts=20), problem, np.ones(2)).objective >= grid - 1e-9


@pytest.mark.parametrize("tuner", [*VARIANTS, Mert(restarts=4, smoothing="average", random_directions=2)])
def test_threads_change_nothing_and_seeds_do(tuner):
    problem = random_problem(np.random.default_rng(3), 30, 6)
    start = np.ones(6)
    one, two = optimise(tuner, problem, start), optimise(tuner, problem, start, runtime=Runtime(threads=2))
    assert one.weights.tolist() == two.weights.tolist()
    assert one.objective == two.objective
    if tuner.restarts:
        assert optimise(tuner, problem, start, seed=1).weights.tolist() != one.weights.tolist()


@pytest.mark.parametrize("tuner", VARIANTS)
def test_workers_climb_to_the_same_places(tuner):
    problem = random_problem(np.random.default_rng(5), 20, 4)
    here, elsewhere = (
        optimise(tuner, problem, np.ones(4), runtime=runtime) for runtime in (Runtime(), Runtime(workers=Elsewhere(2)))
    )
    assert here.weights.tolist() == elsewhere.weights.tolist()
    assert here.others.tolist() == elsewhere.others.tolist()


def test_an_interruption_ends_climbs_at_their_next_move(monkeypatch):
    move, moves = LineAscent._move, []

    def slow(self, lines, at, directions):
        moves.append(time.sleep(0.05))
        return move(self, lines, at, directions)

    def interrupt():
        while not moves:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    monkeypatch.setattr(LineAscent, "_move", slow)
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        optimise(Mert(), random_problem(np.random.default_rng(1), 20, 40), np.ones(40), runtime=Runtime(threads=2))
    assert len(moves) < 40, "a round has 45"


@pytest.mark.parametrize("restarts", [0, 5])
def test_where_the_other_starts_ended_is_told(restarts):
    problem = random_problem(np.random.default_rng(4), 20, 4)
    found = optimise(Mert(restarts=restarts), problem, np.ones(4))
    assert len(found.others) == restarts
    assert all(problem.objective(other) <= found.objective + 1e-9 for other in found.others)
    assert len({tuple(other) for other in found.others.tolist()}) == restarts
    assert np.abs(found.others).sum() == pytest.approx(restarts), "they are normalised as the best is"


def test_error_rates_go_down():
    problem = replace(random_problem(np.random.default_rng(1), 10, 3), sign=-1)
    start = np.ones(3)
    found = optimise(Mert(), problem, start)
    chosen = problem.statistics[problem.best(found.weights)].sum(axis=0)
    assert found.objective == pytest.approx(-float(problem.scorer.score(chosen)))
    assert found.objective > problem.objective(start)


def test_single_candidates_leave_the_weights_as_they_are():
    problem = random_problem(np.random.default_rng(2), 5, 3, most=1)
    start = np.array([1.0, -2.0, 1.0])
    assert optimise(Mert(restarts=2), problem, start).weights.tolist() == [0.25, -0.5, 0.25]
    assert optimise(Mert(restarts=2, normalise=False), problem, start).weights.tolist() == start.tolist()
    assert optimise(Mert(restarts=0), problem, np.zeros(3)).weights.tolist() == [0.0, 0.0, 0.0]


def search(breaks, scores, **options):
    line = Line(np.array(breaks), np.array(scores))
    return Mert(**options).ascent.search(line, np.array([0.5, -0.5]), np.array([0.0, 1.0]))


def test_a_search_goes_to_the_middle_of_the_best_piece():
    assert search([1.0, 2.0], [1.0, 3.0, 2.0]) == (1.5, 3.0)
    assert search([1.0, 2.0], [1.0, 2.0, 3.0]) == (2.1, 3.0)  # a tenth of the weights beyond the last break
    assert search([], [3.0]) == (0.0, 3.0)


def test_of_equally_good_pieces_the_nearest_is_taken_and_then_the_left_one():
    assert search([-4.0, -3.0, 1.0, 2.0], [1.0, 5.0, 1.0, 5.0, 1.0]).step == 1.5
    assert search([-2.0, -1.0, 1.0, 2.0], [1.0, 5.0, 1.0, 5.0, 1.0]).step == -1.5
    assert search([-1.0, 3.0, 4.0], [1.0, 5.0, 1.0, 5.0]).step == 1.0


def test_pieces_of_rounding_are_passed_over():
    assert search([1.0, 1.0 + 1e-12, 2.0], [1.0, 9.0, 3.0, 2.0]).score == 3.0


def test_smoothing_passes_over_narrow_peaks():
    breaks, scores = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 9.0, 1.0, 4.0, 5.0, 4.0, 4.0]
    assert search(breaks, scores) == (1.5, 9.0)
    assert search(breaks, scores, smoothing="minimum", window=1) == (4.5, 4.0)
    assert search(breaks, scores, smoothing="average", window=2) == (3.5, pytest.approx(23 / 5))


@pytest.mark.parametrize("how", ["minimum", "average"])
def test_smoothed_scores_are_those_of_the_pieces_around(how):
    scores = np.random.default_rng(0).normal(size=9)
    for window in (1, 3, 20):
        around = [scores[max(0, i - window) : i + window + 1] for i in range(9)]
        expected = [part.min() if how == "minimum" else part.mean() for part in around]
        np.testing.assert_allclose(smooth(scores, window, how), expected, rtol=1e-12)


def test_the_middle_of_open_pieces():
    assert middle(-np.inf, 2.0, 0.5) == 1.5
    assert middle(2.0, np.inf, 0.5) == 2.5
    assert middle(-np.inf, np.inf, 0.5) == 0.0


@pytest.mark.parametrize("how", ["minimum", "average"])
def test_smoothed_training_finds_good_weights(how):
    problem = replace(random_problem(np.random.default_rng(4), 60, 4), sign=1)
    start = np.full(4, 0.1)
    found = optimise(Mert(restarts=5, smoothing=how), problem, start)
    assert problem.objective(found.weights) > problem.objective(start)
    assert found.objective <= optimise(Mert(restarts=5), problem, start).objective + 1e-9


def test_impossible_options_are_refused():
    with pytest.raises(UsageError, match="moves is 'all'"):
        Mert(moves="all")
