"""Which systems of an experiment are compared with which, and what comes out.

Methods are compared decision by decision, and decisions method by method; all with all if they are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.evaluation.experiments.results import Measured, System
from dragoman.evaluation.statistics.comparison import Resampling, compare_systems

#: So many systems are compared all with all; of 12 there are 66 pairs.
MOST_TOGETHER = 12

_TRIALS = 1000


@dataclass(frozen=True)
class Group:
    """Systems to be compared, with the names that are short and clear among them; `title` is empty for all systems."""

    title: str
    names: dict[str, System]
    #: Whether its pairs are those of no group before.
    new_pairs: bool = True


@dataclass(frozen=True)
class Comparison:
    """The order of a group on one test set, and its pairs as rows of `COLUMNS`."""

    title: str
    order: str
    pairs: list[tuple[str, ...]]


COLUMNS = ("better", "worse", "difference", "share", "p bootstrap", "p randomisation")


def groups(systems: Sequence[System]) -> list[Group]:
    """All systems together if they are few, then the decisions of each method, and the methods of each decision."""
    decisions = dict.fromkeys(system.decision for system in systems)
    methods = dict.fromkeys(system.method for system in systems)
    together = len(decisions) == 1 or len(systems) <= MOST_TOGETHER
    found = [Group("", {system.name: system for system in systems})] if together else []
    if len(decisions) == 1:
        return found
    for method in methods:
        of_method = [system for system in systems if system.method == method]
        found.append(Group(of_method[0].method_name, {s.decision.name: s for s in of_method}, not together))
    for decision in decisions:
        of_decision = [system for system in systems if system.decision == decision]
        found.append(Group(f"by {decision.name}", {s.method_name: s for s in of_decision}, not together))
    return found


def compare_group(group: Group, measured: Measured) -> Comparison:
    """Compare the systems of a group on one test set; the pairs only if no other group has them."""
    names, systems = list(group.names), [measured.systems[system] for system in group.names.values()]
    how = Resampling(samples=0, trials=_TRIALS if group.new_pairs else 0)
    compared = compare_systems(measured.metric, measured.scorer, names, systems, how)
    pairs = [_row(group, pair) for pair in compared["pairs"]] if group.new_pairs else []
    return Comparison(group.title, compared["order"], pairs)


def _row(group: Group, pair: dict[str, Any]) -> tuple[str, ...]:
    return (
        group.names[pair["better"]].name,
        group.names[pair["worse"]].name,
        f"{pair['difference']:+.2f}",
        f"{pair['share_better']:.3f}",
        f"{pair['p_bootstrap']:.4f}",
        f"{pair['p_randomisation']:.4f}",
    )
