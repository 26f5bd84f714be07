"""How far a run goes towards new weights."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.tuning.problems.problem import is_weight
from dragoman.tuning.runs.trust_region import (
    TrustRegion,
    damped_step,
    degrees_between,
    is_same,
    longest_part,
    shortest_part,
)

BOTH = np.array([True, True])
NEAR = TrustRegion().min_radius


def test_weights_may_go_back_to_where_it_was_decoded_before():
    known = [np.array([0.0, 1.0]), np.array([1.0, 0.0])]
    assert longest_part(known, np.array([0.1, 1.0]), 1.0, 30, BOTH) == 1.0
    assert longest_part(known[1:], np.array([0.1, 1.0]), 1.0, 30, BOTH) < 0.5


class Stairs:
    """Evidence that sees a gain as soon as the second weight is above 0.2 of the first, and no more beyond that."""

    names = ("lm", "distortion")
    ranges = np.array([[-1.0, 1.0]] * 2)

    def __init__(self, gain):
        self._gain = gain

    def objective(self, weights):
        return 1.0 + self._gain * (weights[1] > 0.2 * weights[0])

    def objectives(self, weights):
        return np.array([self.objective(vector) for vector in weights])


@pytest.mark.parametrize(("gain", "least", "expected"), [(1.0, 0.1, 0.2), (1.0, 0.35, 0.35), (-1.0, 0.1, 0.5)])
def test_a_method_that_may_overshoot_goes_only_as_far_as_the_evidence_sees_a_gain(gain, least, expected):
    before, after = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert shortest_part(Stairs(gain), before, after, (least, 0.5), 0.95) == pytest.approx(expected)


def test_a_step_short_of_all_gains_is_not_enough():
    class Slope(Stairs):
        def objective(self, weights):
            return float(weights[1] / weights.sum())

    before, after = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert shortest_part(Slope(1.0), before, after, (0.1, 1.0), 0.95) == 1.0


def test_shares_of_mixed_tables_are_never_scaled():
    weighed = is_weight(["lm", "mix.tm.fwd.a", "mix.tm.fwd.b"])
    before, after = np.array([4.0, 0.5, 0.5]), np.array([1.0, 0.9, 0.1])
    np.testing.assert_allclose(damped_step(before, after, 0.5, weighed), [1.0, 0.7, 0.3])
    np.testing.assert_allclose(damped_step(before, after, 1, weighed), after)


class Peak(Stairs):
    """Evidence whose best is where it begins, and that falls off faster towards the second weight than from it."""

    def objective(self, weights):
        slope = 1.0 if weights[1] < 0 else 2.0
        return 1.0 - slope * abs(float(weights[1]))


def test_where_nothing_is_better_the_best_of_other_proposals_is_worth_a_small_turn():
    begin = np.array([1.0, 0.0])
    others = [np.array([0.0, 1.0]), np.array([2.0, 0.0]), np.array([0.0, -1.0])]
    step = TrustRegion().step([begin, *others], Peak(1.0), [begin], 1e-4)
    assert step.explores
    assert step.weights[1] < 0, "towards where less is lost; what equals the start leads nowhere"
    assert 1 < degrees_between(step.weights, begin) <= NEAR


def test_where_a_distant_optimum_is_no_better_within_reach_than_the_start_it_is_worth_a_small_turn():
    begin = np.array([1.0, 0.0])
    step = TrustRegion().step([np.array([0.0, 1.0]), np.array([3.0, 0.0])], Peak(1.0), [begin], 1e-4)
    assert step.explores
    assert 1 < degrees_between(step.weights, begin) <= NEAR


def test_without_other_proposals_a_run_stays_where_nothing_is_better():
    begin = np.array([1.0, 0.0])
    step = TrustRegion().step([2 * begin], Peak(1.0), [begin], 1e-4)
    assert not step.explores
    assert is_same(begin, step.weights, 1e-4, BOTH)


class Loses:
    """Loses half of the score as soon as the second weight is above 0.2 of the first."""

    def __init__(self):
        self.asked = 0

    def __call__(self, weights):
        self.asked += 1
        return 0.5 if weights[1] > 0.2 * weights[0] else 0.0


FAR = np.array([0.0, 1.0])


def test_a_turn_that_loses_much_is_halved_until_it_does_not():
    begin, loss = np.array([1.0, 0.0]), Loses()
    assert TrustRegion().step([FAR], Stairs(1.0), [begin], 1e-4).part == pytest.approx(0.3)
    step = TrustRegion().step([FAR], Stairs(1.0), [begin], 1e-4, loss)
    assert step.part == pytest.approx(0.15)
    assert step.weights[1] < 0.2 * step.weights[0]
    assert loss.asked == 2


def test_a_turn_is_not_made_smaller_than_what_is_safe():
    begin = np.array([1.0, 0.0])
    step = TrustRegion().step([FAR], Stairs(1.0), [begin], 1e-4, lambda weights: 1.0)
    assert step.part == longest_part([begin], FAR, 0.3, NEAR, BOTH)
    assert 1 < degrees_between(step.weights, begin) <= NEAR


@pytest.mark.parametrize("part", [0.5, 1.0])
def test_without_a_region_a_step_is_made_untried_to_the_first_proposal(part):
    loss, begin = Loses(), np.array([1.0, 0.0])
    region = TrustRegion(radius=180, part=part, enough=0.95)
    step = region.step([FAR, np.array([1.0, 0.1])], Stairs(1.0), [begin], 1e-4, loss)
    assert (step.part, step.explores, loss.asked) == (part, False, 0)
    np.testing.assert_array_equal(step.weights, damped_step(begin, FAR, part, BOTH))
    # Nothing is explored either, though another proposal is elsewhere.
    stays = region.step([begin, FAR], Peak(1.0), [begin], 1e-4)
    assert (stays.weights.tolist(), stays.explores) == (begin.tolist(), False)
