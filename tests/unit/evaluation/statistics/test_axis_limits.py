"""Pictures show what is alike, and leave out what is far away."""

import numpy as np
import pytest

from dragoman.evaluation.statistics.intervals import (
    Band,
    deviation_band,
    limits_of_curves,
    limits_of_losses,
    limits_of_scores,
    limits_of_systems,
    range_band,
)


def test_bands_of_runs():
    runs = np.array([[1.0, 5.0], [3.0, 5.0], [5.0, 2.0]])
    deviations, ranges = deviation_band(runs), range_band(runs)
    for band in (deviations, ranges):
        np.testing.assert_allclose(band.mean, [3, 4])
    np.testing.assert_allclose(deviations.high - deviations.mean, [2, np.sqrt(3)])
    np.testing.assert_allclose(deviations.mean - deviations.low, [2, np.sqrt(3)])
    np.testing.assert_allclose([ranges.low, ranges.high], [[1, 2], [5, 5]])
    alone = deviation_band(runs[:1])
    np.testing.assert_allclose([alone.low, alone.high], [[1, 5], [1, 5]])


def test_a_system_far_away_is_left_out_with_its_deviation():
    near = [Band(np.array([m]), np.array([m - 0.5]), np.array([m + 0.5])) for m in (40.0, 41.0, 42.0)]
    far = Band(np.array([3.0]), np.array([0.0]), np.array([90.0]))
    assert limits_of_systems([*near, far]) == pytest.approx((39.2, 42.8))


def test_a_bad_iteration_in_between_is_left_out_but_no_end():
    mean = np.array([20.0, 1.0, 25.0, 28.0, 27.0])
    low, high = limits_of_curves([Band(mean, mean, mean)])
    assert 18 < low < 20
    assert 28 < high < 30


def test_losses_are_on_one_side_of_zero():
    low, high = limits_of_losses([0.0, -0.2, -0.3, -40.0])
    assert -2 < low < -0.3
    assert 0 < high < 0.2
    assert limits_of_losses([0.2, 0.3, 0.4]) == pytest.approx((-0.02, 0.42))
    assert limits_of_losses([0.0, 0.0]) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_the_worst_scores_are_out_of_sight_whichever_they_are(sign):
    scores = sign * np.array([-100.0, *np.linspace(40, 42, 20)])
    low, high = sorted(sign * edge for edge in limits_of_scores(scores, sign))
    assert 39 < low < 41
    assert 42 < high < 43
