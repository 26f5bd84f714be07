"""The weights that runs ended with."""

from __future__ import annotations

import numpy as np

from dragoman.evaluation.experiments.tuned import Tuned
from dragoman.evaluation.experiments.tuned_weights import TunedWeights
from dragoman.evaluation.figures.experiment_figures import weight_chart
from dragoman.evaluation.reports.experiment.sheets import Rows, Sheets
from dragoman.evaluation.statistics.spread import mean_sd


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
