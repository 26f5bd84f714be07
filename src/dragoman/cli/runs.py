"""`dragoman curve`: draw the learning curves of tuning runs.

`dragoman weights`: show and compare weights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import command, command_group
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.journal import weights_file
from dragoman.evaluation.statistics.intervals import full_signature
from dragoman.evaluation.statistics.weight_changes import Change, compare_weights, scale_weights
from dragoman.metrics.combined import parse_metric
from dragoman.tuning.runs.run import Run

WeightsOf = Annotated[Path, typer.Argument(help="A weights file, or the folder of a run or a model.")]
Prefix = Annotated[str, typer.Option(help="Show only names with this prefix, such as pb.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number of weights to print.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    _add_curve(app)
    _add_weights(app)


def _add_curve(app: typer.Typer) -> None:
    @command(
        app,
        "curve",
        examples=["dragoman curve run --out curve.svg", "dragoman curve results/runs/*/1 --out methods.svg"],
    )
    def curve(
        runs: Annotated[list[Path], typer.Argument(help="Folders of runs, finished or not.")],
        out: Annotated[Path, typer.Option(help="SVG file to write.")],
    ) -> None:
        """Draw the scores of runs after each iteration, with their objectives and temperatures."""
        from dragoman.evaluation.figures.runs import draw_runs
        from dragoman.evaluation.figures.svg import write_svg

        found = {str(folder): Run(folder).events() for folder in runs}
        for folder, events in found.items():
            if not events:
                raise DataError("has no events", path=folder, expected="a run with at least one iteration")
        metrics = sorted({str(Run(folder).options["metric"]) for folder in runs})
        if len(metrics) > 1:
            raise UsageError(f"the runs optimise {' and '.join(metrics)}; expected one metric")
        metric = parse_metric(metrics[0])
        signature = full_signature(metric, None, prepared=True)
        sign = 1 if metric.higher_is_better else -1
        write_svg(out, draw_runs(found, metrics[0], sign=sign, signature=signature))


def _add_weights(app: typer.Typer) -> None:
    group = command_group(app, "weights")

    @command(group, "show", examples=["dragoman weights show run", "dragoman weights show model --prefix tm."])
    def show(weights: WeightsOf, prefix: Prefix = "") -> None:
        """Print weights by name, grouped by prefix."""
        groups: defaultdict[str, list[str]] = defaultdict(list)
        found = _read(weights, prefix)
        for name in sorted(found):
            stem, dot, _ = name.partition(".")
            groups[stem if dot else ""].append(name)
        for stem, names in sorted(groups.items()):
            title = f"{stem or weights}: {_counted(len(names))}"
            _print(title, {name: found[name] for name in names})

    @command(
        group, "top", examples=["dragoman weights top run -n 20", "dragoman weights top run --prefix pb. --limit 50"]
    )
    def top(weights: WeightsOf, limit: Limit = 20, prefix: Prefix = "") -> None:
        """Print the weights with the largest absolute values."""
        found = _read(weights, prefix)
        names = sorted(found, key=lambda name: (-abs(found[name]), name))[:limit]
        title = f"{weights}: the {len(names)} largest of {_counted(len(found))}"
        _print(title, {name: found[name] for name in names})

    @command(
        group,
        "diff",
        examples=["dragoman weights diff run1 run2", "dragoman weights diff model run --scaled --by relative -n 50"],
    )
    def diff(
        before: WeightsOf,
        after: WeightsOf,
        limit: Limit = 20,
        prefix: Prefix = "",
        by: Annotated[
            Literal["difference", "relative"], typer.Option(help="Sort by absolute or by relative difference.")
        ] = "difference",
        same_scale: Annotated[
            bool, typer.Option("--scaled", help="Scale both first, so that their absolute values sum to 1.")
        ] = False,
    ) -> None:
        """Print the differences of weights: the largest changes, the missing names, and the cosine of the two.

        A missing weight is 0. The relative difference is relative to the larger of the two values.
        """
        sides: list[Mapping[str, float]] = [_read(path, prefix) for path in (before, after)]
        if same_scale:
            sides = [scale_weights(side) for side in sides]
        found = compare_weights(*sides)
        changes = sorted(found.changes, key=lambda c: -c.relative) if by == "relative" else found.changes
        shown = changes[:limit]
        title = f"{before} and {after}: {len(shown)} of {len(changes):,} differences"
        rows = [
            (change.name, _value(change.before), _value(change.after), f"{change.difference:+.4g}", _share(change))
            for change in shown
        ]
        columns = ["weight", "before", "after", "difference", "relative"]
        console = terminal.output()
        console.print(terminal.table(title, columns, rows))
        console.print(
            f"cosine {found.cosine:.6f}; {found.same:,} the same; {found.only_before:,} only in {before}; "
            f"{found.only_after:,} only in {after}",
            markup=False,
        )


def _read(path: Path, prefix: str) -> Weights:
    file = weights_file(path)
    if path.is_dir() and not file.is_file():
        raise DataError("has no weights.txt", path=path, expected="the folder of a run or a model")
    weights = Weights.read(file)
    found = Weights({name: value for name, value in weights.items() if name.startswith(prefix)})
    if not found:
        raise DataError(f"has no weight with the prefix '{prefix}'" if weights else "has no weights", path=file)
    return found


def _counted(number: int) -> str:
    return f"{number:,} weight{'' if number == 1 else 's'}"


def _print(title: str, weights: Mapping[str, float]) -> None:
    # Align the signs, which a right-aligned column would not do.
    rows = [(name, f"{value: .6g}") for name, value in weights.items()]
    terminal.output().print(terminal.table(title, ["weight", "value"], rows))


def _value(value: float | None) -> str:
    return "missing" if value is None else f"{value: .6g}"


def _share(change: Change) -> str:
    return f"{change.relative:.1%}"
