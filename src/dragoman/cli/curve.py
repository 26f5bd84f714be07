"""`dragoman curve`: a picture of how tuning runs go, or went."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell.flags import command
from dragoman.core.errors import DataError, UsageError
from dragoman.evaluation.statistics.intervals import full_signature
from dragoman.metrics.combined import parse_metric
from dragoman.tuning.runs.run import Run


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "curve",
        examples=["dragoman curve run --out curve.svg", "dragoman curve results/runs/*/1 --out methods.svg"],
    )
    def curve(
        runs: Annotated[list[Path], typer.Argument(help="Folders of runs; they may still be at work.")],
        out: Annotated[Path, typer.Option(help="SVG file.")],
    ) -> None:
        """Draw how the score of runs changes from iteration to iteration, with their objectives and temperatures."""
        from dragoman.evaluation.figures.runs import draw_runs
        from dragoman.evaluation.figures.svg import write_svg

        found = {str(folder): Run(folder).events() for folder in runs}
        for folder, events in found.items():
            if not events:
                raise DataError("has no events", path=folder, expected="a run that has done an iteration")
        metrics = sorted({str(Run(folder).options["metric"]) for folder in runs})
        if len(metrics) > 1:
            raise UsageError(f"the runs were tuned to {' and '.join(metrics)}; expected one metric")
        metric = parse_metric(metrics[0])
        signature = full_signature(metric, None, prepared=True)
        sign = 1 if metric.higher_is_better else -1
        write_svg(out, draw_runs(found, metrics[0], sign=sign, signature=signature))
