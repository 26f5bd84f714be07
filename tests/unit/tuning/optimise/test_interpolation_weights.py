"""Shares on the simplex, whatever the coordinates."""

import numpy as np
import pytest
from hypothesis import given, strategies

from dragoman.tuning.optimise.interpolation_weights import (
    FARTHEST,
    FLOOR,
    bounds_of,
    coordinates,
    dirichlet,
    floored_softmax,
    from_coordinates,
    to_coordinates,
)


@given(strategies.lists(strategies.floats(-1e6, 1e6), min_size=2, max_size=8))
def test_shares_are_on_the_simplex_and_above_the_floor_whatever_the_coordinates(theta):
    shares = floored_softmax(np.array(theta))
    assert shares.sum() == pytest.approx(1, abs=1e-9)
    assert shares.min() >= FLOOR - 1e-15


@given(strategies.lists(strategies.floats(0.05, 1), min_size=2, max_size=8))
def test_coordinates_of_shares_give_them_back(values):
    shares = np.array(values) / np.sum(values)
    np.testing.assert_allclose(floored_softmax(coordinates(shares)), np.maximum(shares, 0.0), atol=0.02)
    assert coordinates(np.array([1.0, 0.0])).max() < 5


def test_only_shares_have_coordinates_and_bounds():
    vector, groups = np.array([3.0, 0.2, -1.0, 0.8]), [np.array([1, 3])]
    place = to_coordinates(vector, groups)
    assert place[[0, 2]].tolist() == [3, -1]
    np.testing.assert_allclose(from_coordinates(place, groups), vector, atol=1e-12)
    assert bounds_of(4, groups).tolist() == [[-np.inf, np.inf], [-FARTHEST, FARTHEST]] * 2


def test_a_dirichlet_prior_is_highest_at_equal_shares():
    values = [dirichlet(np.array([share, 1 - share]), 3.0)[0] for share in (0.3, 0.5, 0.6)]
    assert max(values) == values[1] == pytest.approx(4 * np.log(0.5))
    assert dirichlet(np.array([0.3, 0.7]), 1.0)[1].tolist() == [0, 0]
