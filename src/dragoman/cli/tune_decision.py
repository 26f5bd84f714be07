"""`dragoman tune-decision`: find the options of a decision rule on held-out text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli import terminal
from dragoman.cli.flags import Flags, Threads, command
from dragoman.cli.score import ReferenceFiles
from dragoman.cli.translate import (
    DecisionOptions,
    EvidenceChoice,
    NBestSize,
    SamplingOptions,
    sampler,
)
from dragoman.core.errors import DataError
from dragoman.core.files import open_output
from dragoman.core.progress import available_cores
from dragoman.decision import RULES
from dragoman.decision.grid import best_point, grid_density, grid_rules, search_grid
from dragoman.decision.rule import Evidence
from dragoman.decision.settings import Decision
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.texts import ReferencedText
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.translator import Translator


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "tune-decision",
        examples=[
            "dragoman tune-decision --model model --weights run --source dev.fr --reference dev.en "
            "--decision lattice-mbr --grid scale=1,2,5,10 --grid p=0.6,0.8 --out decision.toml --plot grid.svg",
            "dragoman translate --model model --weights run --decision decision.toml < test.fr",
        ],
    )
    def tune_decision(
        model: Annotated[Path, typer.Option(help="The model folder.")],
        source: Annotated[Path, typer.Option(help="Source text, one sentence a line.")],
        reference: ReferenceFiles,
        decision: Annotated[str, typer.Option(help=f"One of {', '.join(RULES.names())}.")],
        grid: Annotated[list[str], typer.Option(help="NAME=VALUE,VALUE,... for an option of the rule; repeatable.")],
        out: Annotated[Path, typer.Option(help="Where the best options go (TOML), for `translate --decision`.")],
        limits: Annotated[SearchLimits, Flags("Search")],
        space: Annotated[SpaceLimits, Flags("Space (the model's own by default)")],
        weights: Annotated[Path | None, typer.Option(help="Weights in place of the model's: a file or a run.")] = None,
        decision_option: DecisionOptions = None,
        evidence: EvidenceChoice = None,
        nbest_size: NBestSize = None,
        sampling_option: SamplingOptions = None,
        seed: Annotated[int, typer.Option(min=0, help="Seed of samples.")] = 1,
        metric: Annotated[str, typer.Option(help="What is maximised; see `dragoman score --help`.")] = "bleu",
        plot: Annotated[Path | None, typer.Option(help="SVG of scores over the first option of the grid.")] = None,
        prepared: Annotated[
            bool, typer.Option("--prepared", help="The text is tokenised (and lower-cased) already.")
        ] = False,
        threads: Threads = None,
    ) -> None:
        """Try a decision rule with all options of a grid on held-out text, and keep the best.

        The text is searched once; all points of the grid decide by the same evidence. Prints the score of each.
        """
        progress, workers = terminal.progress(), threads or available_cores()
        kind = RULES.get(decision)
        rules = grid_rules(kind, decision_option or [], grid)
        chosen = Decision.of(decision, decision_option or [], evidence, nbest_size)
        measure = parse_metric(metric)
        loaded = Model.load(model)
        text = ReferencedText.read(source, reference, loaded.preparation(prepared=prepared))
        lines = text.lines
        if not lines:
            raise DataError("has no sentences", path=source, expected="some to decide about")
        translator = Translator.of(
            loaded,
            None if weights is None else loaded.read_weights(weights),
            limits=limits,
            space=space,
            threads=workers,
        )
        draw = sampler(translator, sampling_option, seed, progress) if chosen.evidence == "samples" else None
        parts: list[Evidence] = []
        done = 0
        with progress.stage("gathering evidence") as share:
            for part in chosen.gather(translator, lines, density=grid_density(rules), draw=draw):
                parts.append(part)
                done += len(part)
                share(done / len(lines))
        points = search_grid(rules, parts, measure.scorer(text.references), threads=workers, progress=progress)
        best = best_point(points, measure)
        found = Decision(best.rule, chosen.evidence, chosen.nbest_size)
        tuning = {"metric": metric, "score": round(best.score, 4), "source": str(source), "grid": grid}
        with open_output(out) as stream:
            stream.write(found.format(tuning).encode())
        if plot is not None:
            from dragoman.evaluation.figures.figures import figure_svg
            from dragoman.evaluation.figures.grid_plot import draw_grid

            with open_output(plot) as stream:
                stream.write(figure_svg(draw_grid(points, metric)).encode())
        rows = [
            (*(value for _, value in point.options), point.score, "best" if point is best else "") for point in points
        ]
        columns = [*(name for name, _ in points[0].options), metric, ""]
        terminal.output().print(terminal.table(f"{decision} by {chosen.evidence}", columns, rows))
