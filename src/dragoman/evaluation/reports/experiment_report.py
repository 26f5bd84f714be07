"""The report of an experiment: a page with tables and pictures, and the same numbers as CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.files import open_output
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.plan import Method
from dragoman.evaluation.experiments.plan_decisions import PlannedDecision
from dragoman.evaluation.experiments.results import Measured, Results, System
from dragoman.evaluation.experiments.scale_summary import ScaleSummary
from dragoman.evaluation.figures.decision_figures import scale_curves, system_chart
from dragoman.evaluation.figures.experiment_figures import (
    learning_curves,
    rank_chart,
    traces,
    weight_chart,
    weight_lines,
)
from dragoman.evaluation.reports.report import Report
from dragoman.evaluation.statistics.spread import geometric_mean, mean_sd
from dragoman.evaluation.statistics.system_comparison import COLUMNS, compare_group, groups
from dragoman.tuning.optimise.line_search import prepare
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.runs.run import Run

Rows = list[tuple[object, ...]]

_MOST_CANDIDATES = 300


class ExperimentReport:
    """Writes `report.html` and CSV files into an experiment's folder; `summary` is the first table."""

    def __init__(self, experiment: Experiment, *, threads: int = 1):
        self._results = Results(experiment, threads=threads)
        self._plan = experiment.plan
        self._out = experiment.out
        self._threads = threads
        self._page = Report(self._plan.title)
        self.summary: tuple[list[str], Rows] = ([], [])
        self.orders: dict[str, str] = {}

    def write(self) -> Path:
        """Make all parts, in the order of the page."""
        measured = {
            (test.name, metric): self._results.measured(test, metric)
            for test in self._plan.tests
            for metric in self._plan.metrics
        }
        self._scores(measured)
        self._spread(measured)
        self._significance(measured)
        self._scales()
        self._curves()
        self._numbers()
        self._weights()
        for method in self._plan.methods:
            self._one_run(method)
        self._settings()
        path = self._out / "report.html"
        self._page.write(path)
        return path

    def _named(self, system: System) -> tuple[str, ...]:
        """A system in the columns of `_naming`."""
        return (system.method_name, *([system.decision.name] if self._plan.has_decisions else []))

    @property
    def _naming(self) -> list[str]:
        return ["method", *(["decision"] if self._plan.has_decisions else [])]

    def _scores(self, measured: dict[tuple[str, str], Measured]) -> None:
        results, metric, plan = self._results, self._plan.metrics[0], self._plan
        scaled = any(decision.scales for decision in plan.decisions)
        columns = [*self._naming, "runs", f"{metric} on the tuning set", *(f"{m} on {t}" for t, m in measured)]
        columns += [*(["scale"] if scaled else []), "iterations", "seconds"]
        rows: Rows = []
        for system in results.systems:
            # What belongs to a method stands in the row of its first decision.
            method = system.method if system.decision == plan.decisions[0] else None
            row: list[object] = [*self._named(system), len(plan.seeds) if system.method else 1]
            row += [mean_sd(results.tuning_scores(method) if method else None)]
            row += [mean_sd(found.scores(system)) for found in measured.values()]
            row += [geometric_mean([chosen.scale for chosen in results.scales(system)])] if scaled else []
            row += [mean_sd(results.iterations(method), 1), mean_sd(results.seconds(method), 1)] if method else ["", ""]
            rows.append(tuple(row))
        self.summary = columns, rows
        self._page.heading("Scores")
        self._page.paragraph(
            f"Means over {len(plan.seeds)} runs, ± their standard deviation."
            if len(plan.seeds) > 1
            else "One run each: such scores vary by chance more than methods often differ."
        )
        if plan.has_decisions:
            panels = {
                f"{name} on {test}": {
                    decision.name: {s.method_name: found.scores(s) for s in results.systems if s.decision == decision}
                    for decision in plan.decisions
                }
                for (test, name), found in measured.items()
            }
            self._page.figure(
                system_chart(panels),
                "Means over runs, ± 1 standard deviation; pale dots are runs. An arrow with a number is a score that is"
                " far from the others.",
            )
        self._page.table(columns, rows)
        single: Rows = []
        for (test, name), found in measured.items():
            for system in results.systems:
                if system.method is None:
                    continue
                tuning = results.tuning_scores(system.method)
                for i, seed in enumerate(plan.seeds):
                    score = float(found.scores(system)[i])
                    single.append((*self._named(system), seed, test, name, score, float(tuning[i])))
            for system in results.systems:
                if system.method is None:
                    single.append((*self._named(system), "", test, name, float(found.scores(system)[0]), ""))
        columns = [*self._naming, "seed", "test set", "metric", "score", "score on the tuning set"]
        self._csv("runs.csv", columns, single)

    def _spread(self, measured: dict[tuple[str, str], Measured]) -> None:
        """Mean, deviation, worst and best run of every system."""
        rows: Rows = []
        for (test, name), found in measured.items():
            for system in self._results.systems:
                scores = found.scores(system)
                deviation = float(scores.std(ddof=1)) if len(scores) > 1 else ""
                numbers = float(scores.mean()), deviation, float(scores.min()), float(scores.max())
                rows.append((*self._named(system), test, name, len(scores), *numbers))
        columns = [*self._naming, "test set", "metric", "runs", "mean", "sd", "min", "max"]
        self._csv("systems.csv", columns, rows)
        if len(self._plan.seeds) > 1:
            many = self._plan.has_decisions
            self._page.heading("How runs differ")
            shown = [tuple(f"{v:.2f}" if isinstance(v, float) else v for v in row) for row in rows]
            self._page.table(columns, shown, folded="Means, worst and best runs of all systems" if many else "")

    def _significance(self, measured: dict[tuple[str, str], Measured]) -> None:
        metric = self._plan.metrics[0]
        rows: Rows = []
        self._page.heading("Which differences mean something")
        self._page.paragraph(
            "For each pair: the difference of the means, in which share of bootstrap resamples of the sentences the"
            " first is better (Koehn 2004; 0.95 counts as significant), its one-sided p-value, and the two-sided"
            " p-value of approximate randomisation, stratified over runs (Clark et al. 2011). In the order, > is"
            " significantly better, ≥ is better on this test set."
        )
        for test in self._plan.tests:
            found = [compare_group(group, measured[test.name, metric]) for group in groups(self._results.systems)]
            for comparison in found:
                where = ", ".join(filter(None, (test.name, comparison.title)))
                self.orders[where] = comparison.order
                self._page.paragraph(f"{where}: {comparison.order}")
            pairs = [pair for comparison in found for pair in comparison.pairs]
            folded = f"All {len(pairs)} pairs on {test.name}" if self._plan.has_decisions else ""
            self._page.table(COLUMNS, pairs, folded=folded)
            rows += [(test.name, metric, *pair) for pair in pairs]
        self._csv("pairs.csv", ["test set", "metric", *COLUMNS], rows)

    def _scales(self) -> None:
        """The scales that were chosen, and what others would have lost."""
        metric, results = self._plan.metrics[0], self._results
        systems = [system for system in results.systems if system.decision.scales]
        if not systems:
            return
        rows: Rows = []
        table: Rows = []
        panels: dict[str, dict[str, dict[float, NDArray[np.float64]]]] = {}
        for system in systems:
            found = ScaleSummary(results.scales(system))
            panels.setdefault(system.decision.name, {})[system.method_name] = found.lost
            table.append((*self._named(system), *found.row()))
            rows += [
                (*self._named(system), seed, scale, score, "yes" if scale == run.scale else "")
                for seed, run in zip(self._plan.seeds if system.method else [""], found.chosen, strict=True)
                for scale, score in run.scores.items()
            ]
        self._csv("scales.csv", [*self._naming, "seed", "scale", metric, "chosen"], rows)
        self._page.heading("Do the weights need rescaling?")
        self._page.paragraph(
            "Probabilities are exp(scale · score), so that a scale of 2 is that of weights twice as large. It was"
            " chosen for the weights of each run on the tuning set: below are the geometric mean over runs, and in"
            " brackets the smallest and the largest. If many runs are at the edge of the scales, offer more of them."
            " Samples were drawn anew for each scale."
        )
        columns = ["scale", "at the edge of the scales", f"{metric} at scale 1, against the best scale"]
        self._page.table([*self._naming, *columns], table)
        self._page.figure(
            scale_curves(panels, metric),
            "What each scale scores on the tuning set, against the best scale of the same run: means over runs, with"
            " bands from the worst to the best run. Scales that lose much more than others are out of sight.",
        )

    def _curves(self) -> None:
        metric, results = self._plan.metrics[0], self._results
        panels = {"tuning set": {method.name: results.tuning_curve(method) for method in self._plan.methods}}
        if self._plan.curves:
            for test in self._plan.tests:
                panels[test.name] = {method.name: results.curve(method, test) for method in self._plan.methods}
        self._page.heading("Learning curves")
        self._page.figure(
            learning_curves(panels, metric),
            "Under the weights after so many optimisations: means over runs, with bands of ± 1 standard deviation. Runs"
            " that have ended stay where they were."
            + (f" Test sets are translated by {self._plan.decisions[0].name}." if self._plan.has_decisions else ""),
        )
        rows: Rows = [
            (where, name, self._plan.seeds[i], iteration, float(score))
            for where, curves in panels.items()
            for name, runs in curves.items()
            for i, run in enumerate(runs)
            for iteration, score in enumerate(run)
        ]
        self._csv("curves.csv", ["set", "method", "seed", "optimised", metric], rows)

    def _numbers(self) -> None:
        """The objective, and whatever else a method tells of its iterations."""
        methods, results = self._plan.methods, self._results
        shown = [(method.name, "objective", results.numbers(method, "objective")) for method in methods]
        shown = [panel for panel in shown if any(map(len, panel[2]))]
        if shown:
            self._page.heading("Objectives")
            self._page.figure(
                traces(shown),
                "What each method maximises, on the candidates it had, iteration by iteration; a line for each run."
                " Only methods that maximise the metric itself can be compared.",
            )
        own = [(m.name, key, results.numbers(m, key)) for m in methods for key in results.own_numbers(m)]
        if own:
            self._page.heading("Other numbers")
            self._page.figure(traces(own), "What methods tell of their iterations; a line for each run.")

    def _weights(self) -> None:
        names = self._results.tuned_names
        weights = {method.name: self._results.weights(method) for method in self._plan.methods}
        rows: Rows = [
            (method, self._plan.seeds[i], name, float(run[column]))
            for method, runs in weights.items()
            for i, run in enumerate(runs)
            for column, name in enumerate(names)
        ]
        self._csv("weights.csv", ["method", "seed", "feature", "weight"], rows)
        self._page.heading("Weights")
        self._page.figure(weight_chart(names, weights), "A dot for each run, a bar for the mean.")
        self._page.table(
            ["feature", *weights],
            [(name, *(mean_sd(runs[:, i], 3) for runs in weights.values())) for i, name in enumerate(names)],
        )

    def _one_run(self, method: Method) -> None:
        """Pictures of the best run of a method: the metric along each weight, and the ranks of candidates."""
        results = self._results
        if not results.dense:
            return
        run = results.best_run(method)
        if not results.has_evidence(run):
            return
        problem = results.problem(method, run)
        weights = results.scaled(run.weights())
        point = prepare(problem, threads=self._threads).at(weights)
        lines = [point.line(axis) for axis in np.eye(len(weights))]
        self._page.heading(f"{method.name}: around its weights")
        self._page.figure(
            weight_lines(results.tuned_names, weights, lines, results.sign, self._plan.metrics[0]),
            f"{self._plan.metrics[0]} of the tuning set as one weight changes and the others stay (the run with seed"
            f" {run.options['seed']}, all its candidates; exact). The red line is the weight that was chosen.",
        )
        if not isinstance(problem, HypergraphProblem):
            self._ranks(run, problem)

    def _ranks(self, run: Run, problem: Problem) -> None:
        steps = np.array([self._results.scaled(run.weights(i)) for i in range(len(run.events()))])
        sentence = _liveliest(problem, steps)
        rows = np.arange(problem.sentences[sentence], problem.sentences[sentence + 1])
        scores = problem.scorer.sentence_scores(problem.statistics[rows])
        ranks = _ranks(problem.dense[rows] @ steps.T)
        # Those that were ever near the top.
        shown = np.sort(np.argsort(ranks.min(axis=1), kind="stable")[:_MOST_CANDIDATES])
        self._page.figure(
            rank_chart(ranks[shown], scores[shown]),
            f"The candidates of sentence {sentence + 1} of the tuning set, ranked by the weights of each iteration;"
            " good ones should rise. It is the sentence whose translation changed most often.",
        )

    def _settings(self) -> None:
        job = self._plan.job
        others = {"method", "options", "seed"}
        rows: Rows = [(key, str(value)) for key, value in job.description().items() if key not in others]
        rows += [(f"options of {method.name}", str(method.tuner)) for method in self._plan.methods]
        if self._plan.has_decisions:
            rows += [(f"decision {decision.name}", _described(decision)) for decision in self._plan.decisions]
        self._page.heading("Settings")
        self._page.table(["", ""], rows)

    def _csv(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        with open_output(self._out / name) as stream:
            stream.write(text.getvalue().encode())


def _described(decision: PlannedDecision) -> str:
    parts = [str(decision.decision.rule), f"by {decision.decision.evidence}"]
    parts += [str(decision.sampling)] if decision.by_samples else []
    parts += [f"{decision.decision.nbest_size} best"] if decision.decision.evidence == "nbest" else []
    parts += [f"scale of {', '.join(f'{scale:g}' for scale in decision.scales)}"] if decision.scales else []
    return "; ".join(parts)


def _liveliest(problem: Problem, steps: NDArray[np.float64]) -> int:
    """The sentence whose best candidate changes most often, of those with a middling number of candidates."""
    best = np.stack([problem.best(weights) for weights in steps])
    changes = (np.diff(best, axis=0) != 0).sum(axis=0) if len(best) > 1 else np.zeros(best.shape[1])
    sizes = np.diff(problem.sentences)
    return int(np.argmax(changes - 1e-3 * np.abs(sizes - np.median(sizes)) / sizes.max()))


def _ranks(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The rank, from 1, of each row within each column.

    >>> _ranks(np.array([[0.5, 2.0], [1.5, 1.0]])).tolist()
    [[2, 1], [1, 2]]
    """
    return np.argsort(np.argsort(-scores, axis=0, kind="stable"), axis=0, kind="stable") + 1
