"""Estimators of expected utility: one a file; each spends calls of the utility in its own way."""

from dragoman.core.options import Registry
from dragoman.decision.estimators.estimator import Estimator

ESTIMATORS = Registry("estimator", "dragoman.decision.estimators", Estimator)
