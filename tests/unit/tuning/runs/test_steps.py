"""How far a run goes towards new weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dragoman.tuning.methods.tuner import Optimum, Tuner
from dragoman.tuning.runs.steps import (
    SAFE_TURN,
    Steps,
    between,
    degrees_between,
    is_same,
    longest_step,
    shortest_step,
)


def test_weights_may_go_back_to_where_it_was_decoded_before():
    known = [np.array([0.0, 1.0]), np.array([1.0, 0.0])]
    assert longest_step(["a", "b"], known, np.array([0.1, 1.0]), 1.0, 30) == 1.0
    assert longest_step(["a", "b"], known[1:], np.array([0.1, 1.0]), 1.0, 30) < 0.5


class Stairs:
    """Evidence that sees a gain as soon as the second weight is above 0.2 of the first, and no more beyond that."""

    names = ("lm", "distortion")
    ranges = np.array([[-1.0, 1.0]] * 2)

    def __init__(self, gain):
        self._gain = gain

    def objective(self, weights):
        return 1.0 + self._gain * (weights[1] > 0.2 * weights[0])


@pytest.mark.parametrize(("gain", "least", "expected"), [(1.0, 0.1, 0.2), (1.0, 0.35, 0.35), (-1.0, 0.1, 0.5)])
def test_a_method_that_may_overshoot_goes_only_as_far_as_the_evidence_sees_a_gain(gain, least, expected):
    before, after = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert shortest_step(Stairs(gain), before, after, (least, 0.5)) == pytest.approx(expected)


def test_a_step_short_of_all_gains_is_not_enough():
    class Slope(Stairs):
        def objective(self, weights):
            return float(weights[1] / weights.sum())

    before, after = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert shortest_step(Slope(1.0), before, after, (0.1, 1.0)) == 1.0


def test_shares_of_mixed_tables_are_never_scaled():
    names = ["lm", "mix.tm.fwd.a", "mix.tm.fwd.b"]
    before, after = np.array([4.0, 0.5, 0.5]), np.array([1.0, 0.9, 0.1])
    np.testing.assert_allclose(between(names, before, after, 0.5), [1.0, 0.7, 0.3])
    np.testing.assert_allclose(between(names, before, after, 1), after)


class Peak(Stairs):
    """Evidence whose best is where it begins, and that falls off faster towards the second weight than from it."""

    def objective(self, weights):
        slope = 1.0 if weights[1] < 0 else 2.0
        return 1.0 - slope * abs(float(weights[1]))


@dataclass(frozen=True)
class Proposing(Tuner):
    """For its `is_held_back` and `interpolation` only."""

    def improve(self, problem, start, rng, runtime):
        raise NotImplementedError


@pytest.mark.parametrize("interpolation", [None, 1.0])
def test_where_nothing_is_better_the_best_of_other_proposals_is_worth_a_small_turn(interpolation):
    steps, begin = Steps(Proposing(), interpolation, 30, 1e-4), np.array([1.0, 0.0])
    others = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, -1.0]])
    way = steps.on(Optimum(begin, 1.0, others=others), Peak(1.0), [begin])
    assert way.further
    assert way.end[1] < 0, "towards where less is lost; what equals the start leads nowhere"
    assert 1 < degrees_between(way.end, begin) <= SAFE_TURN


def test_where_a_distant_optimum_is_no_better_within_reach_than_the_start_it_is_worth_a_small_turn():
    steps, begin = Steps(Proposing(), None, 30, 1e-4), np.array([1.0, 0.0])
    way = steps.on(Optimum(np.array([0.0, 1.0]), 2.0, others=np.array([[3.0, 0.0]])), Peak(1.0), [begin])
    assert way.further
    assert 1 < degrees_between(way.end, begin) <= SAFE_TURN


def test_without_other_proposals_a_run_stays_where_nothing_is_better():
    steps, begin = Steps(Proposing(), None, 30, 1e-4), np.array([1.0, 0.0])
    way = steps.on(Optimum(2 * begin, 1.0), Peak(1.0), [begin])
    assert not way.further
    assert is_same(Peak.names, begin, way.end, 1e-4)


class Loses:
    """Loses half of the score as soon as the second weight is above 0.2 of the first."""

    def __init__(self):
        self.asked = 0

    def __call__(self, weights):
        self.asked += 1
        return 0.5 if weights[1] > 0.2 * weights[0] else 0.0


FAR = Optimum(np.array([0.0, 1.0]), 2.0)


def test_a_turn_that_loses_much_is_halved_until_it_does_not():
    steps, begin, loss = Steps(Proposing(), None, 30, 1e-4), np.array([1.0, 0.0]), Loses()
    assert steps.on(FAR, Stairs(1.0), [begin]).share == pytest.approx(0.3)
    way = steps.on(FAR, Stairs(1.0), [begin], loss)
    assert way.share == pytest.approx(0.15)
    assert way.end[1] < 0.2 * way.end[0]
    assert loss.asked == 2


def test_a_turn_is_not_made_smaller_than_what_is_safe():
    begin = np.array([1.0, 0.0])
    way = Steps(Proposing(), None, 30, 1e-4).on(FAR, Stairs(1.0), [begin], lambda weights: 1.0)
    assert way.share == longest_step(Stairs.names, [begin], FAR.weights, 0.3, SAFE_TURN)
    assert 1 < degrees_between(way.end, begin) <= SAFE_TURN


@pytest.mark.parametrize(("interpolation", "largest_turn", "share"), [(0.5, 30, 0.5), (None, 180, 1.0)])
def test_who_asks_for_all_of_a_step_gets_it_untried(interpolation, largest_turn, share):
    loss = Loses()
    way = Steps(Proposing(), interpolation, largest_turn, 1e-4).on(FAR, Stairs(1.0), [np.array([1.0, 0.0])], loss)
    assert (way.share, loss.asked) == (share, 0)
