"""Metrics: statistics for each sentence, added up, then scored; one metric a file."""

from dragoman.core.registry import Registry
from dragoman.metrics.metric import Metric

METRICS = Registry("metric", "dragoman.metrics", Metric)
