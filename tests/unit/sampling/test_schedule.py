"""Schedules of temperatures."""

import pytest

from dragoman.core.errors import UsageError
from dragoman.core.options import parse_options
from dragoman.sampling.chains import ChainSettings
from dragoman.sampling.diagnostics.diagnosis import Diagnosis
from dragoman.sampling.schedule import Annealing, Sampling, Schedule


def burn_in(options):
    return ChainSettings.sampling(options, seed=1, trace=False, first_number=0).burn_in.tolist()


def test_temperatures_fall_by_the_same_factor():
    temperatures = Annealing(scans=3, start_temperature=4.0, end_temperature=1.0).temperatures
    assert temperatures.tolist() == pytest.approx([4.0, 2.0, 1.0])
    with pytest.raises(UsageError, match="end_temperature is 0"):
        Annealing(end_temperature=0.0)


def test_burn_in_heats_relative_to_the_temperature_that_is_sampled_at():
    assert burn_in(Sampling(burn_in=4)) == [3.0, 2.5, 2.0, 1.5]
    assert burn_in(Sampling(burn_in=4, temperature=0.02)) == pytest.approx([0.06, 0.05, 0.04, 0.03])
    assert burn_in(Sampling(burn_in=4).at_scale(50)) == pytest.approx([0.06, 0.05, 0.04, 0.03])
    assert burn_in(Sampling(burn_in=2, temperature=4.0)) == [12.0, 8.0]
    assert burn_in(Diagnosis(burn_in=2, temperature=0.2).sampling(Schedule(), "gloss")) == pytest.approx([0.6, 0.4])


def test_a_start_temperature_that_is_given_is_absolute():
    assert burn_in(Sampling(burn_in=2, start_temperature=3.0, temperature=1.0)) == [3.0, 2.0]
    assert burn_in(parse_options(Sampling, ["burn-in=2", "start-temperature=3", "temperature=0.5"])) == [3.0, 1.75]
    assert burn_in(Sampling(burn_in=2, start_temperature=2.0).at_scale(2)) == [2.0, 1.25]
    with pytest.raises(UsageError, match="start_temperature is 0"):
        Sampling(start_temperature=0.0)


def test_samples_at_a_scale_have_its_inverse_as_temperature():
    assert Sampling().at_scale(4).temperature == 0.25
    assert Sampling(temperature=0.5).at_scale(4).temperature == 0.125
