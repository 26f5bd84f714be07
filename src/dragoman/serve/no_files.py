"""What a request may name: rules and metrics that read no file of the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from dragoman.core.errors import UsageError
from dragoman.core.options import Options
from dragoman.decision import RULES
from dragoman.decision.rule import Rule
from dragoman.metrics import METRICS
from dragoman.metrics.combined import Combined, parse_metric

#: The most that `sum of terms` of a metric may be long.
_LONGEST = 200


def metric_without_files(text: str) -> str:
    """Return the text of a metric, if it reads no file."""
    if len(text) > _LONGEST:
        raise UsageError(f"a metric has {len(text)} characters; expected at most {_LONGEST}")
    metric = parse_metric(text)
    for one in [term for _, term in metric.terms()] if isinstance(metric, Combined) else [metric]:
        if any(field.name == "path" for field in fields(one)):
            raise UsageError(f"{one.name} reads a file, which the service does not; expected another metric")
    return text


def metric_names() -> list[str]:
    """The metrics that can be asked for, without those that read files and sums of others."""
    return [name for name in METRICS.names() if name != Combined.name and not _reads(METRICS.get(name))]


def rule_without_files(name: str, options: Mapping[str, Any]) -> type[Rule]:
    """Return a rule by name, if it and its options read no file."""
    rule = RULES.get(name)
    if "metric" in options:
        metric_without_files(str(options["metric"]))
    for option, value in options.items():
        if isinstance(value, str) and _is_path(rule, option):
            raise UsageError(f"{option} is a file, which the service does not read; expected another option")
    return rule


def _reads(kind: type[Options]) -> bool:
    return any(field.name == "path" for field in fields(kind))


def _is_path(kind: type[Options], option: str) -> bool:
    return any(field.name == option and Path.__name__ in str(field.type) for field in fields(kind))
