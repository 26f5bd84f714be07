"""Scores of all systems on all test sets: a table, a picture if there are decisions, and how runs differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.experiments.measured import Measured, Translated, Vector
from dragoman.evaluation.experiments.plan import Plan
from dragoman.evaluation.experiments.systems import System, systems_of
from dragoman.evaluation.experiments.tuned import Tuned
from dragoman.evaluation.figures.decision_figures import system_chart
from dragoman.evaluation.reports.experiment.sheets import Rows, Sheets
from dragoman.evaluation.statistics.spread import geometric_mean, mean_sd

#: What was measured, by test set and metric.
Tests = dict[tuple[str, str], Measured]
Table = tuple[list[str], Rows]

_UNCHANGED = "with start weights"


def summary(sheets: Sheets, tuned: Tuned, translated: Translated, tests: Tests) -> Table:
    """The first table: a row for each system."""
    plan = sheets.plan
    scaled = any(decision.scales for decision in plan.decisions)
    columns = [*sheets.naming, "runs", f"{plan.metrics[0]} on the tuning set", *(f"{m} on {t}" for t, m in tests)]
    columns += [*(["scale"] if scaled else []), "iterations", "seconds"]
    rows: Rows = []
    for system in systems_of(plan):
        # What belongs to a method stands in the row of its first decision.
        method = system.method if system.decision == plan.decisions[0] else None
        changed = _changed(tuned, system)
        row: list[object] = [*sheets.named(system), _counted(changed)]
        row += [_means(tuned.scores(method), changed) if method else ""]
        row += [_means(found.scores(system), changed) for found in tests.values()]
        row += [geometric_mean([chosen.scale for chosen in translated.scales(system)])] if scaled else []
        row += [mean_sd(tuned.iterations(method), 1), mean_sd(tuned.seconds(method), 1)] if method else ["", ""]
        rows.append(tuple(row))
    return columns, rows


def _changed(tuned: Tuned, system: System) -> NDArray[np.bool_]:
    """Which runs of a system ended with weights of their own; the untuned weights are their own."""
    return np.ones(1, bool) if system.method is None else ~tuned.unchanged(system.method)


def _counted(changed: NDArray[np.bool_]) -> int | str:
    unchanged = int(np.count_nonzero(~changed))
    return f"{len(changed)} ({unchanged} {_UNCHANGED})" if unchanged else len(changed)


def _means(scores: Vector, changed: NDArray[np.bool_]) -> str:
    """The mean of all runs, and if some found nothing, that of the others beside it."""
    if changed.all() or not changed.any():
        return mean_sd(scores)
    return f"{mean_sd(scores)} (without those {mean_sd(scores[changed])})"


def add_scores(sheets: Sheets, table: Table, tests: Tests) -> None:
    """Begin the page: the first table, with a picture of it if it is large."""
    plan, page = sheets.plan, sheets.page
    page.heading("Scores")
    page.paragraph(
        f"Means over {len(plan.seeds)} runs, ± their standard deviation."
        if len(plan.seeds) > 1
        else "One run each: such scores vary by chance more than methods often differ."
    )
    if plan.has_decisions:
        panels = {
            f"{name} on {test}": {
                decision.name: {s.method_name: found.scores(s) for s in systems_of(plan) if s.decision == decision}
                for decision in plan.decisions
            }
            for (test, name), found in tests.items()
        }
        page.figure(
            system_chart(panels),
            "Means over runs, ± 1 standard deviation; pale dots are runs. An arrow with a number is a score that is"
            " far from the others.",
        )
    page.table(*table)
    page.paragraph("; ".join(dict.fromkeys(found.signature for found in tests.values())))
    if any(_UNCHANGED in str(cell) for row in table[1] for cell in row):
        page.paragraph(
            f"Runs “{_UNCHANGED}” found nothing that scores better on the tuning set: they ended with the weights that"
            " they began with. They are part of the means, but no result of tuning; beside each mean, in brackets, is"
            " the one without those runs, if there are others."
        )


def write_runs(sheets: Sheets, tuned: Tuned, tests: Tests) -> None:
    """Write the score of each run; the untuned weights, which have none, come last."""
    systems = sorted(systems_of(sheets.plan), key=lambda system: system.method is None)
    rows: Rows = []
    for (test, name), found in tests.items():
        for system in systems:
            for seed, score, tuning in _runs(sheets.plan, system, tuned, found):
                rows.append((*sheets.named(system), seed, test, name, score, tuning))
    columns = [*sheets.naming, "seed", "test set", "metric", "score", "score on the tuning set"]
    sheets.csv("runs.csv", columns, rows)


def _runs(plan: Plan, system: System, tuned: Tuned, found: Measured) -> list[tuple[object, float, object]]:
    scores = found.scores(system).tolist()
    if system.method is None:
        return [("", scores[0], "")]
    return list(zip(plan.seeds, scores, tuned.scores(system.method).tolist(), strict=True))


def add_spread(sheets: Sheets, tuned: Tuned, tests: Tests) -> None:
    """Mean, deviation, worst and best run of every system, and the mean of runs that found weights of their own."""
    rows: Rows = []
    for (test, name), found in tests.items():
        for system in systems_of(sheets.plan):
            scores = found.scores(system)
            deviation = float(scores.std(ddof=1)) if len(scores) > 1 else ""
            numbers = float(scores.mean()), deviation, float(scores.min()), float(scores.max())
            changed = _changed(tuned, system)
            without = float(scores[changed].mean()) if changed.any() else ""
            own = int(np.count_nonzero(~changed)), without
            rows.append((*sheets.named(system), test, name, len(scores), *numbers, *own))
    columns = [*sheets.naming, "test set", "metric", "runs", "mean", "sd", "min", "max"]
    columns += [_UNCHANGED, "mean without those"]
    sheets.csv("systems.csv", columns, rows)
    if len(sheets.plan.seeds) > 1:
        sheets.page.heading("How runs differ")
        shown = [tuple(f"{v:.2f}" if isinstance(v, float) else v for v in row) for row in rows]
        folded = "Means, worst and best runs of all systems" if sheets.plan.has_decisions else ""
        sheets.page.table(columns, shown, folded=folded)
