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
from dragoman.evaluation.experiments.results import System, Translated, Tuned, TunedWeights, systems_of
from dragoman.evaluation.experiments.scale_choice import ScaleSummary
from dragoman.evaluation.figures.decisions import draw_hopes, scale_curves
from dragoman.evaluation.figures.runs import (
    learning_curves,
    rank_chart,
    share_curves,
    traces,
    weight_chart,
    weight_lines,
)
from dragoman.evaluation.reports.report import Report
from dragoman.evaluation.statistics.intervals import deviation_band, mean_sd
from dragoman.model.mixture import SHARES
from dragoman.tuning.optimise.line_search import line_searches, prepare
from dragoman.tuning.problems.hope_fear import Oracle
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Problem

Rows = list[tuple[object, ...]]


class Sheets:
    """The page and the folder of a report, and how tables of this plan name systems."""

    def __init__(self, plan: Plan, folder: Path):
        self.plan = plan
        self.page = Report(plan.title)
        self._folder = folder

    @property
    def naming(self) -> list[str]:
        """The columns that name a system."""
        return ["method", *(["decision"] if self.plan.has_decisions else [])]

    def named(self, system: System) -> tuple[str, ...]:
        """A system in these columns."""
        return (system.method_name, *([system.decision.name] if self.plan.has_decisions else []))

    def csv(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write a file of numbers."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        with open_output(self._folder / name) as stream:
            stream.write(text.getvalue().encode())

    def write_page(self) -> Path:
        """Write the page; returns where it is."""
        path = self._folder / "report.html"
        self.page.write(path)
        return path


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


def add_mixtures(sheets: Sheets, tuned: Tuned) -> None:
    """A picture for each method that tunes shares, and a file of those of all runs; nothing if none does."""
    rows: Rows = []
    for method in sheets.plan.methods:
        for seed, run in zip(sheets.plan.seeds, tuned.runs(method), strict=True):
            rows += [
                (method.name, seed, event["iteration"], name, value)
                for event in run.events()
                for name, value in told(event).items()
            ]
    if not rows:
        return
    sheets.csv("mixtures.csv", ["method", "seed", "iteration", "name", "share"], rows)
    for method in sheets.plan.methods:
        run = tuned.best_run(method)
        columns, table = mixture_table(run.events())
        if not table:
            continue
        sheets.page.heading(f"{method.name}: shares of mixed tables")
        sheets.page.figure(
            share_curves(mixture_curves(run.events())),
            f"The run with seed {run.options['seed']}: the share of each table in each score with which an iteration"
            " decoded, and in the phrases of the translations that were best then.",
        )
        sheets.page.table(columns, table, folded="The same as numbers")


def told(event: Mapping[str, Any]) -> dict[str, float]:
    """What an event says of mixtures: shares by name, and shares of phrases, `phrases.tm.in`.

    >>> told({"shares": {"mix.tm.fwd.in": 0.7}, "phrases_from": {"tm": {"in": 0.8}}})
    {'mix.tm.fwd.in': 0.7, 'phrases.tm.in': 0.8}
    """
    found = dict(event.get("shares", {}))
    for table, parts in event.get("phrases_from", {}).items():
        found |= {f"phrases.{table}.{name}": share for name, share in parts.items()}
    return found


def mixture_curves(events: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """The shares of tables by what they are shares of: iterations and values."""
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for event in events:
        for name, value in told(event).items():
            of, _, table = name.removeprefix(SHARES).rpartition(".")
            found.setdefault(of, {}).setdefault(table, []).append((event["iteration"], value))
    return found


def mixture_table(events: Sequence[Mapping[str, Any]]) -> tuple[list[str], Rows]:
    """A row for each share, a column for each iteration; no rows if there are no shares."""
    names = dict.fromkeys(name for event in events for name in told(event))
    rows: Rows = [(name, *(f"{told(event)[name]:.3f}" for event in events)) for name in names]
    return ["share", *(str(event["iteration"]) for event in events)], rows


Vector = NDArray[np.float64]

_MOST_CANDIDATES = 300
_POINTS = 400  # of a step function that a picture can show


def add_best_run(
    sheets: Sheets, method: Method, tuned: Tuned, looked_at: TunedWeights, *, runtime: Runtime = Runtime()
) -> None:
    """Draw what the optimiser saw, if all features are dense and the run kept it."""
    run = tuned.best_run(method)
    problem = looked_at.last_problem(method, run, runtime=runtime) if looked_at.all_dense else None
    if problem is None:
        return
    metric, weights = sheets.plan.metrics[0], looked_at.scaled(run.weights())
    sheets.page.heading(f"{method.name}: around its weights")
    lines = along_each_weight(problem, weights, tuned.sign, runtime=runtime)
    sheets.page.figure(
        weight_lines(looked_at.names, weights, lines, metric),
        f"{metric} of the tuning set as one weight changes and the others stay (the run with seed"
        f" {run.options['seed']}, all its candidates; exact). The upright line is the weight that was chosen.",
    )
    if not isinstance(problem, HypergraphProblem):
        steps = np.array([looked_at.scaled(run.weights(i)) for i in range(len(run.events()))])
        _add_ranks(sheets, problem, steps)


def along_each_weight(
    problem: Problem | HypergraphProblem, weights: Vector, sign: int, *, runtime: Runtime = Runtime()
) -> list[tuple[Vector, Vector]]:
    """For each weight, values around it and the metric there, the others being as they are.

    Exact: the scores come from the upper envelopes of all candidates.
    """
    lines, axes = prepare(problem, runtime=runtime), np.eye(len(weights))
    reach = float(np.abs(weights).max())
    steps = np.linspace(-reach, reach, _POINTS)
    found = []
    for weight, line in zip(weights.tolist(), line_searches(lines, [lines.at(weights)] * len(axes), axes), strict=True):
        found.append((weight + steps, sign * line.scores[np.searchsorted(line.breaks, steps, "right")]))
    return found


def _add_ranks(sheets: Sheets, problem: Problem, steps: Vector) -> None:
    sentence = _liveliest(problem, steps)
    rows = np.arange(problem.sentences[sentence], problem.sentences[sentence + 1])
    scores = problem.scorer.sentence_scores(problem.statistics[rows])
    ranks = _ranks(problem.dense[rows] @ steps.T)
    # Those that were ever near the top.
    shown = np.sort(np.argsort(ranks.min(axis=1), kind="stable")[:_MOST_CANDIDATES])
    sheets.page.figure(
        rank_chart(ranks[shown], scores[shown]),
        f"The candidates of sentence {sentence + 1} of the tuning set, ranked by the weights of each iteration;"
        " good ones should rise. It is the sentence whose translation changed most often.",
    )


def _liveliest(problem: Problem, steps: Vector) -> int:
    """The sentence whose best candidate changes most often, of those with a middling number of candidates."""
    best = np.stack([problem.best(weights) for weights in steps])
    changes = (np.diff(best, axis=0) != 0).sum(axis=0) if len(best) > 1 else np.zeros(best.shape[1])
    sizes = np.diff(problem.sentences)
    return int(np.argmax(changes - 1e-3 * np.abs(sizes - np.median(sizes)) / sizes.max()))


def _ranks(scores: Vector) -> NDArray[np.int64]:
    """The rank, from 1, of each row within each column.

    >>> _ranks(np.array([[0.5, 2.0], [1.5, 1.0]])).tolist()
    [[2, 1], [1, 2]]
    """
    return np.argsort(np.argsort(-scores, axis=0, kind="stable"), axis=0, kind="stable") + 1


def add_oracles(sheets: Sheets, tuned: Tuned) -> None:
    """A picture for each method whose best run left such lists."""
    for method in sheets.plan.methods:
        run = tuned.best_run(method)
        found = run.final_report()
        if "oracles" not in found:
            continue
        lists = {name: [Oracle(*row) for row in rows] for name, rows in found["oracles"].items()}
        sheets.page.heading(f"{method.name}: what it hopes for and fears")
        sheets.page.figure(
            draw_hopes(lists, str(run.options["metric"])),
            f"Sentence {found['sentence']} of the tuning set, “{found['source']}”, under the weights that the run with"
            f" seed {run.options['seed']} ended with: the best translations by (1 - µ) B + µ score, and with µ = ∞"
            " those that are good for the model and bad for the metric. The first of µ = 0.5 is the oracle.",
        )
        rows = [(name, *row) for name, row_list in lists.items() for row in row_list]
        sheets.page.table(["µ", "B", "score", "translation"], rows, folded="The translations")


def add_scales(sheets: Sheets, translated: Translated) -> None:
    """Write what was chosen for each run, if there were scales to choose from."""
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
        "Probabilities are exp(scale · score), so that a scale of 2 is that of weights twice as large. It was"
        " chosen for the weights of each run on the tuning set: below are the geometric mean over runs, and in"
        " brackets the smallest and the largest. If many runs are at the edge of the scales, offer more of them."
        + (" Samples were drawn anew for each scale." if any(s.decision.by_samples for s in systems) else "")
    )
    columns = ["scale", "at the edge of the scales", f"{metric} at scale 1, against the best scale"]
    page.table([*sheets.naming, *columns], table)
    page.figure(
        scale_curves(panels, metric),
        "What each scale scores on the tuning set, against the best scale of the same run: means over runs, with"
        " bands from the worst to the best run. Scales that lose much more than others are out of sight.",
    )


def add_weights(sheets: Sheets, tuned: Tuned, looked_at: TunedWeights) -> None:
    """A picture and a table of all dense weights, scaled so that runs can be compared."""
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
