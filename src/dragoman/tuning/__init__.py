"""Tuning: evidence and a metric in, weights out; one method a file."""

from dragoman.core.registry import Registry
from dragoman.tuning.tuner import Tuner

TUNERS = Registry("tuner", "dragoman.tuning", Tuner)  # type: ignore[type-abstract]
