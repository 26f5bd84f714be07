"""Schedules of temperatures."""

import pytest

from dragoman.core.errors import UsageError
from dragoman.sampling.schedule import Annealing


def test_temperatures_fall_by_the_same_factor():
    temperatures = Annealing(scans=3, start_temperature=4.0, end_temperature=1.0).temperatures
    assert temperatures.tolist() == pytest.approx([4.0, 2.0, 1.0])
    with pytest.raises(UsageError, match="end_temperature is 0"):
        Annealing(end_temperature=0.0)
