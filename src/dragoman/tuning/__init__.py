"""Tuning: evidence and a metric in, weights out; one method a file."""

from dragoman.core.options import Registry
from dragoman.tuning.methods.method import TuningMethod

TUNERS = Registry("tuner", "dragoman.tuning.methods", TuningMethod)
