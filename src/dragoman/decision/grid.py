"""Choosing a rule's options on held-out text: every point of a grid, with evidence that is made once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.core.errors import UsageError
from dragoman.core.options import options_from
from dragoman.core.runtime import Runtime
from dragoman.decision.lattice import LatticeRule
from dragoman.decision.rule import Decisions, Evidence, Rule
from dragoman.metrics.metric import Metric, Scorer


@dataclass(frozen=True)
class GridPoint:
    """A rule with the options that the grid gave it, and the score of what it decides."""

    rule: Rule
    options: tuple[tuple[str, str], ...]
    score: float


def grid_rules(
    rule: type[Rule], fixed: Sequence[str], grid: Sequence[str]
) -> list[tuple[Rule, tuple[tuple[str, str], ...]]]:
    """All rules of a grid, given as `name=value,value,…` for each option that varies, the last one fastest.

    >>> from dragoman.decision.mbr import Mbr
    >>> [rule.scale for rule, _ in grid_rules(Mbr, ["metric=chrf"], ["scale=0.5,1"])]
    [0.5, 1.0]
    """
    axes: dict[str, list[str]] = {}
    for text in grid:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        axes[name] = [value.strip() for value in values.split(",") if value.strip()]
        if not equals or not axes[name]:
            raise UsageError(f"the grid has '{text}'; expected NAME=VALUE,VALUE,…")
    points = [tuple(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return [(options_from(rule, [*fixed, *(f"{name}={value}" for name, value in point)]), point) for point in points]


def grid_density(rules: Sequence[tuple[Rule, tuple[tuple[str, str], ...]]]) -> float:
    """The density to which hypergraphs can be pruned for all rules of a grid, 0 if they cannot.

    That is the largest; the others prune further.
    """
    densities = [rule.density if isinstance(rule, LatticeRule) else 0.0 for rule, _ in rules]
    return max(densities) if all(densities) else 0.0


def search_grid(
    rules: Sequence[tuple[Rule, tuple[tuple[str, str], ...]]],
    evidence: Sequence[Evidence],
    scorer: Scorer,
    *,
    runtime: Runtime = Runtime(),
) -> list[GridPoint]:
    """Decide with each rule by the same evidence, and score the translations."""
    found = []
    with runtime.stage("the grid") as share:
        for i, (rule, options) in enumerate(rules):
            decisions = Decisions.concatenate([rule.decide(part, runtime=runtime.quiet()) for part in evidence])
            total = scorer.statistics(decisions.corpus, runtime=runtime).sum(axis=0)
            found.append(GridPoint(rule, options, float(scorer.score(total))))
            share((i + 1) / len(rules))
    return found


def best_point(points: Sequence[GridPoint], metric: Metric) -> GridPoint:
    """The first of the points with the best score."""
    return (max if metric.higher_is_better else min)(points, key=lambda point: point.score)
