"""Sections of the report of an experiment: curves, mixtures, single runs, oracles, scales and weights."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.files import open_output
from dragoman.core.runtime import Runtime
from dragoman.evaluation.experiments.plan import Method, Plan
from dragoman.evaluation.experiments.results import (
    ExperimentSystem,
    ExperimentTranslations,
    TuningResults,
    WeightVectors,
    pad_rows,
    systems_of,
)
from dragoman.evaluation.experiments.scale_choice import ScaleSummary
from dragoman.evaluation.figures.decisions import draw_hopes, scale_curves
from dragoman.evaluation.figures.runs import (
    learning_curves,
    rank_chart,
    share_curves,
    traces,
    weight_chart,
)
from dragoman.evaluation.figures.surfaces import CAPTION, draw_surfaces
from dragoman.evaluation.reports.report import Report
from dragoman.evaluation.statistics.candidate_ranks import candidate_ranks
from dragoman.evaluation.statistics.error_surfaces import error_surfaces
from dragoman.evaluation.statistics.intervals import deviation_band, mean_sd
from dragoman.evaluation.statistics.run_evidence import RunEvidence
from dragoman.model.mixture import INTERPOLATION_PREFIX
from dragoman.tuning.problems.hope_fear import Oracle
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem

Rows = list[tuple[object, ...]]
Vector = NDArray[np.float64]


class Sheets:
    """The page and the folder of a report, and the names of systems in its tables."""

    def __init__(self, plan: Plan, folder: Path):
        self.plan = plan
        self.page = Report(plan.title)
        self._folder = folder

    @property
    def naming(self) -> list[str]:
        """The columns that name a system."""
        return ["method", *(["decision"] if self.plan.has_decisions else [])]

    def named(self, system: ExperimentSystem) -> tuple[str, ...]:
        """Return a system's values in these columns."""
        return (system.method_name, *([system.decision.name] if self.plan.has_decisions else []))

    def csv(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write a CSV file."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        with open_output(self._folder / name) as stream:
            stream.write(text.getvalue().encode())

    def write_page(self) -> Path:
        """Write the page, and return its path."""
        path = self._folder / "report.html"
        self.page.write(path)
        return path


#: The name of the curves of scores on merged n-best lists.
_MERGED = "tuning set, on the merged lists"


def add_curves(
    sheets: Sheets,
    tuned: TuningResults,
    translated: ExperimentTranslations,
    looked_at: WeightVectors,
    *,
    runtime: Runtime = Runtime(),
) -> None:
    """Add curves of scores on the tuning set, on its merged lists, and on test sets if the plan asks for them."""
    plan, metric = sheets.plan, sheets.plan.metrics[0]
    panels = {"tuning set": {method.name: tuned.curve(method) for method in plan.methods}}
    merged = {method.name: _list_curve(method, tuned, looked_at, runtime) for method in plan.methods}
    panels |= {_MERGED: {name: curve for name, curve in merged.items() if curve is not None}}
    if plan.curves:
        for test in plan.tests:
            panels[test.name] = {method.name: translated.curve(method, test) for method in plan.methods}
    panels = {where: curves for where, curves in panels.items() if curves}
    sheets.page.heading("Learning curves")
    bands = {where: {name: deviation_band(runs) for name, runs in curves.items()} for where, curves in panels.items()}
    sheets.page.figure(
        learning_curves(bands, metric),
        "Scores after each optimisation: means over runs, with bands of ± 1 standard deviation. Runs that have ended"
        " keep their last score. Scores on the merged lists are what optimisers see: the best candidates of all lists"
        " so far under the new weights. Weights whose scores rise only there suit these lists alone."
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


def _list_curve(method: Method, tuned: TuningResults, looked_at: WeightVectors, runtime: Runtime) -> Vector | None:
    """Return the metric on the merged lists of each run, a row each; None unless all runs saved such lists."""
    evidence = [looked_at.evidence(method, run, runtime=runtime) for run in tuned.runs(method)]
    curves = [None if one is None else one.list_scores() for one in evidence]
    there = [curve for curve in curves if curve is not None]
    return pad_rows(there) if len(there) == len(curves) else None


def add_numbers(sheets: Sheets, tuned: TuningResults) -> None:
    """Add curves of the objective and other numbers that a method reports of its iterations."""
    methods, page = sheets.plan.methods, sheets.page
    shown = [(method.name, "objective", tuned.numbers(method, "objective")) for method in methods]
    shown = [panel for panel in shown if any(map(len, panel[2]))]
    if shown:
        page.heading("Objectives")
        page.figure(
            traces(shown),
            "The objective of each method on its candidates, by iteration; a line for each run."
            " Only methods that maximise the metric itself can be compared.",
        )
    own = [(method.name, key, tuned.numbers(method, key)) for method in methods for key in tuned.own_numbers(method)]
    if own:
        page.heading("Other numbers")
        page.figure(traces(own), "Numbers that methods report of their iterations; a line for each run.")


def add_mixtures(sheets: Sheets, tuned: TuningResults) -> None:
    """Add a figure for each method that tunes interpolation weights, and a file with the weights of all runs."""
    rows: Rows = []
    for method in sheets.plan.methods:
        for seed, run in zip(sheets.plan.seeds, tuned.runs(method), strict=True):
            rows += [
                (method.name, seed, event["iteration"], name, value)
                for event in run.events()
                for name, value in event_shares(event).items()
            ]
    if not rows:
        return
    sheets.csv("mixtures.csv", ["method", "seed", "iteration", "name", "share"], rows)
    for method in sheets.plan.methods:
        run = tuned.best_run(method)
        columns, table = mixture_table(run.events())
        if not table:
            continue
        sheets.page.heading(f"{method.name}: interpolation weights")
        sheets.page.figure(
            share_curves(mixture_curves(run.events())),
            f"The run with seed {run.options['seed']}: the interpolation weight of each table in each score, and its"
            " proportion of the phrases in the best translations, by iteration.",
        )
        sheets.page.table(columns, table, folded="All interpolation weights")


def event_shares(event: Mapping[str, Any]) -> dict[str, float]:
    """Return an event's interpolation weights by name, and proportions of phrases, `phrases.tm.in`.

    >>> event_shares({"shares": {"mix.tm.fwd.in": 0.7}, "phrases_from": {"tm": {"in": 0.8}}})
    {'mix.tm.fwd.in': 0.7, 'phrases.tm.in': 0.8}
    """
    found = dict(event.get("shares", {}))
    for table, parts in event.get("phrases_from", {}).items():
        found |= {f"phrases.{table}.{name}": share for name, share in parts.items()}
    return found


def mixture_curves(events: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Return interpolation weights by mixture: iterations and values."""
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for event in events:
        for name, value in event_shares(event).items():
            of, _, table = name.removeprefix(INTERPOLATION_PREFIX).rpartition(".")
            found.setdefault(of, {}).setdefault(table, []).append((event["iteration"], value))
    return found


def mixture_table(events: Sequence[Mapping[str, Any]]) -> tuple[list[str], Rows]:
    """Return a row for each interpolation weight, with a column for each iteration."""
    names = dict.fromkeys(name for event in events for name in event_shares(event))
    rows: Rows = [(name, *(f"{event_shares(event)[name]:.3f}" for event in events)) for name in names]
    return ["share", *(str(event["iteration"]) for event in events)], rows


_MOST_CANDIDATES = 300
_LISTED_CANDIDATES = 12


def add_best_run(
    sheets: Sheets, method: Method, tuned: TuningResults, looked_at: WeightVectors, *, runtime: Runtime = Runtime()
) -> None:
    """Draw the optimiser's last problem, if all features are dense and the run saved its evidence."""
    run = tuned.best_run(method)
    evidence = looked_at.evidence(method, run, runtime=runtime) if looked_at.all_dense else None
    if evidence is None:
        return
    metric = sheets.plan.metrics[0]
    problem, weights = evidence.around(run.weights())
    sheets.page.heading(f"{method.name}: around its weights")
    surfaces = error_surfaces(problem, weights, evidence.tuned, runtime=runtime)
    sheets.page.figure(
        draw_surfaces(surfaces, metric),
        f"{metric} of the tuning set (the run with seed {run.options['seed']}, all its candidates) {CAPTION}",
    )
    if not isinstance(problem, HypergraphProblem):
        _add_ranks(sheets, evidence)


def _add_ranks(sheets: Sheets, evidence: RunEvidence) -> None:
    found = candidate_ranks(evidence)
    # Candidates that were ever near the top.
    shown = np.sort(np.argsort(found.ranks.min(axis=1), kind="stable")[:_MOST_CANDIDATES])
    sheets.page.figure(
        rank_chart(found.ranks[shown], found.scores[shown]),
        f"The candidates of sentence {found.sentence} of the tuning set, ranked by the initial weights and those after"
        " each iteration; good ones should rise. It is the sentence whose translation changed most often.",
    )
    columns, rows = found.top(_LISTED_CANDIDATES).table(sheets.plan.metrics[0])
    folded = (
        f"Candidates of sentence {found.sentence} that were near the top, by final rank, with the best by the metric"
    )
    sheets.page.table(columns, rows, folded=folded)


def add_oracles(sheets: Sheets, tuned: TuningResults) -> None:
    """Add a figure for each method whose best run saved such lists."""
    for method in sheets.plan.methods:
        run = tuned.best_run(method)
        found = run.final_report()
        if "oracles" not in found:
            continue
        lists = {name: [Oracle(*row) for row in rows] for name, rows in found["oracles"].items()}
        sheets.page.heading(f"{method.name}: hope and fear")
        sheets.page.figure(
            draw_hopes(lists, str(run.options["metric"])),
            f"Sentence {found['sentence']} of the tuning set, “{found['source']}”, under the final weights of the run"
            f" with seed {run.options['seed']}: the best translations by (1 - µ) B + µ score, and with µ = ∞"
            " those that are good for the model and bad for the metric. The first of µ = 0.5 is the oracle.",
        )
        rows = [(name, *row) for name, row_list in lists.items() for row in row_list]
        sheets.page.table(["µ", "B", "score", "translation"], rows, folded="The translations")


def add_scales(sheets: Sheets, translated: ExperimentTranslations) -> None:
    """Add the scales chosen for each run, if there were scales to choose from."""
    plan, page, metric = sheets.plan, sheets.page, sheets.plan.metrics[0]
    systems = [system for system in systems_of(plan) if system.decision.scales]
    if not systems:
        return
    rows: Rows = []
    table: Rows = []
    panels: dict[str, dict[str, dict[float, NDArray[np.float64]]]] = {}
    for system in systems:
        found = ScaleSummary(translated.scales(system))
        panels.setdefault(system.decision.name, {})[system.method_name] = found.lost
        table.append((*sheets.named(system), *found.row()))
        rows += [
            (*sheets.named(system), seed, scale, score, "yes" if scale == run.scale else "")
            for seed, run in zip(plan.seeds if system.method else [""], found.chosen, strict=True)
            for scale, score in run.scores.items()
        ]
    sheets.csv("scales.csv", [*sheets.naming, "seed", "scale", metric, "chosen"], rows)
    page.heading("Do the weights need rescaling?")
    page.paragraph(
        "Probabilities are proportional to exp(scale · score): a scale of 2 has the effect of weights twice as large."
        " The scale was chosen for the weights of each run on the tuning set: below are the geometric mean over runs,"
        " and in brackets the smallest and the largest. If many runs are at the edge of the scales, try more scales."
        + (" Samples were drawn separately for each scale." if any(s.decision.by_samples for s in systems) else "")
    )
    columns = ["scale", "at the edge of the scales", f"{metric} at scale 1, against the best scale"]
    page.table([*sheets.naming, *columns], table)
    page.figure(
        scale_curves(panels, metric),
        "Score of each scale on the tuning set, against the best scale of the same run: means over runs, with"
        " bands from the worst to the best run. Scales that lose much more than others lie outside the panel.",
    )


def add_weights(sheets: Sheets, tuned: TuningResults, looked_at: WeightVectors) -> None:
    """Add a figure and a table of all dense weights, scaled so that runs can be compared."""
    names, plan = looked_at.names, sheets.plan
    weights = {
        method.name: np.array([looked_at.scaled(run.weights()) for run in tuned.runs(method)])
        for method in plan.methods
    }
    rows: Rows = [
        (method, plan.seeds[i], name, float(run[column]))
        for method, runs in weights.items()
        for i, run in enumerate(runs)
        for column, name in enumerate(names)
    ]
    sheets.csv("weights.csv", ["method", "seed", "feature", "weight"], rows)
    sheets.page.heading("Weights")
    sheets.page.figure(weight_chart(names, weights), "A dot for each run, a bar for the mean.")
    sheets.page.table(
        ["feature", *weights],
        [(name, *(mean_sd(runs[:, i], 3) for runs in weights.values())) for i, name in enumerate(names)],
    )
