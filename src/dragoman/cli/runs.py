"""`dragoman curve`: draw the learning curves of tuning runs.

`dragoman surface`: draw the metric along each weight around a run's weights.

`dragoman ranks`: show how the candidates of a sentence rank after each iteration of a run.

`dragoman weights`: show and compare weights.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Json, Machine, command, command_group
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.journal import weights_file
from dragoman.evaluation.statistics.intervals import full_signature
from dragoman.evaluation.statistics.weight_changes import Change, compare_weights, scale_weights
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.references import reference_files
from dragoman.tuning.runs.run import Run

RunFolder = Annotated[Path, typer.Argument(help="The folder of a run of `dragoman tune`.")]
WeightsOf = Annotated[Path, typer.Argument(help="A weights file, or the folder of a run or a model.")]
Prefix = Annotated[str, typer.Option(help="Show only names with this prefix, such as pb.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number of weights to print.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    _add_curve(app)
    _add_surface(app)
    _add_ranks(app)
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


def _add_surface(app: typer.Typer) -> None:
    @command(
        app,
        "surface",
        examples=[
            "dragoman surface run --out surface.svg",
            "dragoman surface run --feature lm --feature 'tm.*' --out s.svg",
        ],
    )
    def surface(
        run: RunFolder,
        out: Annotated[Path, typer.Option(help="SVG file to write.")],
        feature: Annotated[
            list[str] | None, typer.Option(help="Draw only this feature, or a pattern such as 'tm.*'; repeatable.")
        ] = None,
        machine: Machine = Machine(),
    ) -> None:
        """Draw the error surface of a run: the metric on its candidates as one weight changes, with a zoom.

        The metric along a line is a step function, and the drawing has every step: it is computed from the upper
        envelopes of all sentences, as in MERT. The run must have saved n-best lists or hypergraphs (batch methods do).
        """
        from dragoman.evaluation.figures.surfaces import draw_surfaces
        from dragoman.evaluation.figures.svg import require_matplotlib, write_svg
        from dragoman.evaluation.statistics.error_surfaces import error_surfaces
        from dragoman.evaluation.statistics.run_evidence import RunEvidence

        require_matplotlib()
        runtime = machine.runtime()
        evidence = RunEvidence.read(run, runtime=runtime.quiet())
        names = [name for name in evidence.tuned if feature is None or any(fnmatchcase(name, each) for each in feature)]
        if not names:
            raise UsageError(f"no tuned feature is called {' or '.join(feature or [])}; there are {evidence.tuned}")
        found = error_surfaces(*evidence.around(evidence.run.weights()), names, runtime=runtime)
        metric = evidence.job.metric
        signature = full_signature(parse_metric(metric), len(reference_files(evidence.job.references)), prepared=True)
        write_svg(out, draw_surfaces(found, metric, signature=signature))


def _add_ranks(app: typer.Typer) -> None:
    @command(
        app,
        "ranks",
        examples=[
            "dragoman ranks run",
            "dragoman ranks run --sentence 12 --iterations 0,1,5 --limit 20 --out ranks.svg",
        ],
    )
    def ranks(
        run: RunFolder,
        sentence: Annotated[
            int | None,
            typer.Option(min=1, help="Number of the sentence. Default: the one whose translation changed most often."),
        ] = None,
        iterations: Annotated[
            str | None, typer.Option(help="Iterations, separated by commas; 0: the initial weights. Default: all.")
        ] = None,
        limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number of candidates.")] = 8,
        out: Annotated[Path | None, typer.Option(help="SVG of the ranks of all candidates over iterations.")] = None,
        as_json: Json = False,
        machine: Machine = Machine(),
    ) -> None:
        """Show how the candidates of a sentence are ranked by the weights after each iteration of a run.

        Candidates are the distinct strings of all n-best lists of the run. Shown are those that were near the top after
        some iteration, and the best by the metric, in the order of their final ranks.
        """
        from dragoman.evaluation.statistics.candidate_ranks import candidate_ranks
        from dragoman.evaluation.statistics.run_evidence import RunEvidence

        evidence = RunEvidence.read(run, runtime=machine.runtime().quiet())
        found = candidate_ranks(evidence, sentence, None if iterations is None else _numbers(iterations))
        metric = evidence.job.metric
        if out is not None:
            from dragoman.evaluation.figures.runs import rank_chart
            from dragoman.evaluation.figures.svg import write_svg

            write_svg(out, rank_chart(found.ranks, found.scores, found.iterations))
        shown = found.top(limit)
        if as_json:
            print(json.dumps(shown.to_dict(), ensure_ascii=False))
            return
        title = f"{run}: sentence {found.sentence}, {len(shown.texts)} of {len(found.texts):,} candidates"
        terminal.output().print(terminal.table(title, *shown.table(metric)))


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--iterations is '{text}'; expected numbers separated by commas, such as 0,1,5") from None


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
