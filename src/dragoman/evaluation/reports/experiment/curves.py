"""How tuning went, iteration by iteration: scores, objectives, and whatever else methods tell."""

from __future__ import annotations

from dragoman.evaluation.experiments.measured import Translated
from dragoman.evaluation.experiments.tuned import Tuned
from dragoman.evaluation.figures.experiment_figures import learning_curves, traces
from dragoman.evaluation.reports.experiment.sheets import Rows, Sheets
from dragoman.evaluation.statistics.bands import deviation_band


def add_curves(sheets: Sheets, tuned: Tuned, translated: Translated) -> None:
    """Scores on the tuning set, and on test sets if the plan has them translated all along."""
    plan, metric = sheets.plan, sheets.plan.metrics[0]
    panels = {"tuning set": {method.name: tuned.curve(method) for method in plan.methods}}
    if plan.curves:
        for test in plan.tests:
            panels[test.name] = {method.name: translated.curve(method, test) for method in plan.methods}
    sheets.page.heading("Learning curves")
    bands = {where: {name: deviation_band(runs) for name, runs in curves.items()} for where, curves in panels.items()}
    sheets.page.figure(
        learning_curves(bands, metric),
        "Under the weights after so many optimisations: means over runs, with bands of ± 1 standard deviation. Runs"
        " that have ended stay where they were."
        + (f" Test sets are translated by {plan.decisions[0].name}." if plan.has_decisions else ""),
    )
    rows: Rows = [
        (where, name, plan.seeds[i], iteration, float(score))
        for where, curves in panels.items()
        for name, runs in curves.items()
        for i, run in enumerate(runs)
        for iteration, score in enumerate(run)
    ]
    sheets.csv("curves.csv", ["set", "method", "seed", "optimised", metric], rows)


def add_numbers(sheets: Sheets, tuned: Tuned) -> None:
    """The objective, and whatever else a method tells of its iterations."""
    methods, page = sheets.plan.methods, sheets.page
    shown = [(method.name, "objective", tuned.numbers(method, "objective")) for method in methods]
    shown = [panel for panel in shown if any(map(len, panel[2]))]
    if shown:
        page.heading("Objectives")
        page.figure(
            traces(shown),
            "What each method maximises, on the candidates it had, iteration by iteration; a line for each run."
            " Only methods that maximise the metric itself can be compared.",
        )
    own = [(method.name, key, tuned.numbers(method, key)) for method in methods for key in tuned.own_numbers(method)]
    if own:
        page.heading("Other numbers")
        page.figure(traces(own), "What methods tell of their iterations; a line for each run.")
