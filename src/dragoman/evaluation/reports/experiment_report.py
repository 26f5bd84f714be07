"""The report of an experiment: a page with tables and pictures, and the same numbers as CSV files."""

from __future__ import annotations

from pathlib import Path

from dragoman.core.runtime import Runtime
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.measured import Translated
from dragoman.evaluation.experiments.tuned import Tuned
from dragoman.evaluation.experiments.tuned_weights import TunedWeights
from dragoman.evaluation.reports.experiment.curves import add_curves, add_numbers
from dragoman.evaluation.reports.experiment.mixtures import add_mixtures
from dragoman.evaluation.reports.experiment.one_run import add_best_run
from dragoman.evaluation.reports.experiment.oracles import add_oracles
from dragoman.evaluation.reports.experiment.scales import add_scales
from dragoman.evaluation.reports.experiment.scores import Table, add_scores, add_spread, summary, write_runs
from dragoman.evaluation.reports.experiment.settings import add_settings
from dragoman.evaluation.reports.experiment.sheets import Sheets
from dragoman.evaluation.reports.experiment.significance import add_significance
from dragoman.evaluation.reports.experiment.weights import add_weights


class ExperimentReport:
    """Writes `report.html` and CSV files into an experiment's folder.

    `summary` is the first table, `signatures` say how its scores were made, `orders` is the order of systems on each
    test set.
    """

    def __init__(self, experiment: Experiment, *, runtime: Runtime = Runtime()):
        self._experiment = experiment
        self._runtime = runtime
        self.summary: Table = ([], [])
        self.signatures: list[str] = []
        self.orders: dict[str, str] = {}

    def write(self) -> Path:
        """Make all parts, in the order of the page; returns the page."""
        plan = self._experiment.plan
        tuned = Tuned(self._experiment)
        translated = Translated(self._experiment, runtime=self._runtime)
        weights = TunedWeights(plan)
        sheets = Sheets(plan, self._experiment.out)
        tests = {
            (test.name, metric): translated.measured(test, metric) for test in plan.tests for metric in plan.metrics
        }
        self.summary = summary(sheets, tuned, translated, tests)
        self.signatures = list(dict.fromkeys(found.signature for found in tests.values()))
        add_scores(sheets, self.summary, tests)
        write_runs(sheets, tuned, tests)
        add_spread(sheets, tuned, tests)
        self.orders = add_significance(sheets, tests)
        add_scales(sheets, translated)
        add_curves(sheets, tuned, translated)
        add_numbers(sheets, tuned)
        add_weights(sheets, tuned, weights)
        add_mixtures(sheets, tuned)
        add_oracles(sheets, tuned)
        for method in plan.methods:
            add_best_run(sheets, method, tuned, weights, runtime=self._runtime)
        add_settings(sheets)
        return sheets.write_page()
