"""Metrics: statistics of each sentence, which are summed and scored; one metric per file."""

from dragoman.core.options import Registry
from dragoman.metrics.metric import Metric

METRICS = Registry("metric", "dragoman.metrics", Metric)
