"""Which systems of an experiment are compared with which, and what comes out.

Methods are compared decision by decision, and decisions method by method; all with all if they are few. If p-values are
corrected, then for all pairs on one test set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.evaluation.experiments.measured import Measured
from dragoman.evaluation.experiments.systems import System
from dragoman.evaluation.statistics.comparison import Resampling, compare_systems, corrected_order, with_holm
from dragoman.evaluation.statistics.holm import Correction, draws_needed

#: So many systems are compared all with all; of 12 there are 66 pairs.
MOST_TOGETHER = 12

_DRAWS = 1000


@dataclass(frozen=True)
class Group:
    """Systems to be compared, with the names that are short and clear among them; `title` is empty for all systems."""

    title: str
    names: dict[str, System]
    #: Whether its pairs are those of no group before.
    new_pairs: bool = True

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.names) * (len(self.names) - 1) // 2


@dataclass(frozen=True)
class Comparison:
    """What comes out on one test set: the order of each group by its title, and all pairs, a text for each column."""

    orders: dict[str, str]
    pairs: list[dict[str, str]]


#: The columns of pairs, those with raw p-values, and those with corrected ones.
PAIR = ("better", "worse", "difference", "share")
RAW = {"p bootstrap": "p_bootstrap", "p randomisation": "p_randomisation"}
HOLM = {f"{column}, Holm": f"{key}_holm" for column, key in RAW.items()}


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


def compare_groups(found: Sequence[Group], measured: Measured, correction: Correction = "none") -> Comparison:
    """Compare the systems of all groups on one test set; a pair that stands in several groups is one pair."""
    tests = sum(group.pairs for group in found if group.new_pairs)
    # So many that a pair can be significant in spite of the correction, with a p-value twice as large as the smallest.
    draws = _DRAWS if correction == "none" else max(_DRAWS, 2 * draws_needed(tests))
    orders: dict[str, str] = {}
    pairs: list[dict[str, Any]] = []
    for group in found:
        names, systems = list(group.names), [measured.systems[system] for system in group.names.values()]
        how = Resampling(resamples=draws, samples=0, trials=draws if group.new_pairs else 0)
        compared = compare_systems(measured.metric, measured.scorer, names, systems, how)
        orders[group.title] = compared["order"]
        if group.new_pairs:
            pairs += [_with_whole_names(group, pair) for pair in compared["pairs"]]
    if correction == "holm":
        pairs = with_holm(pairs)
        orders = {group.title: _corrected_order(group, pairs) for group in found}
    columns = RAW if correction == "none" else {**RAW, **HOLM}
    return Comparison(orders, [_row(pair, columns) for pair in pairs])


def _with_whole_names(group: Group, pair: dict[str, Any]) -> dict[str, Any]:
    return {**pair, **{side: group.names[pair[side]].name for side in ("better", "worse")}}


def _corrected_order(group: Group, pairs: Sequence[dict[str, Any]]) -> str:
    """The order of a group by the corrected p-values of its pairs, whatever group these were found in."""
    short = {system.name: name for name, system in group.names.items()}
    ours = [pair for pair in pairs if pair["better"] in short and pair["worse"] in short]
    return corrected_order([{**pair, **{side: short[pair[side]] for side in ("better", "worse")}} for pair in ours])


def _row(pair: dict[str, Any], columns: dict[str, str]) -> dict[str, str]:
    known = (pair["better"], pair["worse"], f"{pair['difference']:+.2f}", f"{pair['share_better']:.3f}")
    return {
        **dict(zip(PAIR, known, strict=True)),
        **{column: f"{pair[key]:.4f}" for column, key in columns.items()},
    }
