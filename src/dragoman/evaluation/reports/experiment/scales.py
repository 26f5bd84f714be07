"""Do the weights need rescaling? The scales that were chosen, and what others would have lost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.experiments.measured import Translated
from dragoman.evaluation.experiments.scale_summary import ScaleSummary
from dragoman.evaluation.experiments.systems import systems_of
from dragoman.evaluation.figures.decision_figures import scale_curves
from dragoman.evaluation.reports.experiment.sheets import Rows, Sheets


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
