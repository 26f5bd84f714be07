"""The report of an experiment: a page with tables and pictures, and the same numbers as CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.files import open_output
from dragoman.evaluation.comparison import Resampling, compare_systems
from dragoman.evaluation.experiment import Experiment
from dragoman.evaluation.experiment_figures import (
    learning_curves,
    objectives,
    rank_chart,
    weight_chart,
    weight_lines,
)
from dragoman.evaluation.plan import Method
from dragoman.evaluation.report import Report
from dragoman.evaluation.results import UNTUNED, Measured, Results
from dragoman.tuning.hypergraph_problem import HypergraphProblem
from dragoman.tuning.line_search import prepare
from dragoman.tuning.problem import Problem
from dragoman.tuning.run import Run

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
        self._significance(measured)
        self._curves()
        self._objectives()
        self._weights()
        for method in self._plan.methods:
            self._one_run(method)
        self._settings()
        path = self._out / "report.html"
        self._page.write(path)
        return path

    def _scores(self, measured: dict[tuple[str, str], Measured]) -> None:
        results, metric = self._results, self._plan.metrics[0]
        columns = ["method", "runs", f"{metric} on the tuning set", *(f"{m} on {t}" for t, m in measured)]
        columns += ["iterations", "seconds"]
        names = [UNTUNED, *(method.name for method in self._plan.methods)]
        rows: Rows = []
        for name, method in zip(names, [None, *self._plan.methods], strict=True):
            tuning = results.tuning_scores(method) if method else None
            row = [name, len(self._plan.seeds) if method else 1, _mean_sd(tuning)]
            row += [_mean_sd(found.scores(name)) for found in measured.values()]
            row += (
                [_mean_sd(results.iterations(method), 1), _mean_sd(results.seconds(method), 1)] if method else ["", ""]
            )
            rows.append(tuple(row))
        self.summary = columns, rows
        self._page.heading("Scores")
        self._page.paragraph(
            f"Means over {len(self._plan.seeds)} runs, ± their standard deviation."
            if len(self._plan.seeds) > 1
            else "One run each: such scores vary by chance more than methods often differ."
        )
        self._page.table(columns, rows)
        single: Rows = []
        for (test, name), found in measured.items():
            for method in self._plan.methods:
                tuning = results.tuning_scores(method)
                for i, seed in enumerate(self._plan.seeds):
                    score = float(found.scores(method.name)[i])
                    single.append((method.name, seed, test, name, score, float(tuning[i])))
            single.append((UNTUNED, "", test, name, float(found.scores(UNTUNED)[0]), ""))
        self._csv("runs.csv", ["method", "seed", "test set", "metric", "score", "score on the tuning set"], single)

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
        columns = ["better", "worse", "difference", "share", "p bootstrap", "p randomisation"]
        for test in self._plan.tests:
            found = measured[test.name, metric]
            names = list(found.systems)
            systems = list(found.systems.values())
            compared = compare_systems(found.metric, found.scorer, names, systems, Resampling(samples=0, trials=1000))
            self.orders[test.name] = compared["order"]
            pairs: Rows = [
                (
                    pair["better"],
                    pair["worse"],
                    f"{pair['difference']:+.2f}",
                    f"{pair['share_better']:.3f}",
                    f"{pair['p_bootstrap']:.4f}",
                    f"{pair['p_randomisation']:.4f}",
                )
                for pair in compared["pairs"]
            ]
            self._page.paragraph(f"{test.name}: {compared['order']}")
            self._page.table(columns, pairs)
            rows += [(test.name, metric, *pair) for pair in pairs]
        self._csv("pairs.csv", ["test set", "metric", *columns], rows)

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
            " that have ended stay where they were.",
        )
        rows: Rows = [
            (where, name, self._plan.seeds[i], iteration, float(score))
            for where, curves in panels.items()
            for name, runs in curves.items()
            for i, run in enumerate(runs)
            for iteration, score in enumerate(run)
        ]
        self._csv("curves.csv", ["set", "method", "seed", "optimised", metric], rows)

    def _objectives(self) -> None:
        values = {method.name: self._results.objectives(method) for method in self._plan.methods}
        self._page.heading("Objectives")
        self._page.figure(
            objectives(values),
            "What each method maximises, on the candidates it had, iteration by iteration; a line for each run. Only"
            " methods that maximise the metric itself can be compared.",
        )

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
            [(name, *(_mean_sd(runs[:, i], 3) for runs in weights.values())) for i, name in enumerate(names)],
        )

    def _one_run(self, method: Method) -> None:
        """Pictures of the best run of a method: the metric along each weight, and the ranks of candidates."""
        results = self._results
        if not results.dense:
            return
        run = results.best_run(method)
        problem = results.problem(run)
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
        self._page.heading("Settings")
        self._page.table(["", ""], rows)

    def _csv(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        with open_output(self._out / name) as stream:
            stream.write(text.getvalue().encode())


def _mean_sd(values: NDArray[np.generic] | None, digits: int = 2) -> str:
    if values is None:
        return ""
    numbers = np.asarray(values, np.float64)
    mean = f"{numbers.mean():.{digits}f}"
    return f"{mean}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{numbers.std(ddof=1):.{digits}f}" if len(numbers) > 1 else mean


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
