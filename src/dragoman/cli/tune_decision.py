"""`dragoman tune-decision`: find the options of a decision rule on held-out text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.score import ReferenceFiles, print_signature
from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import (
    DecisionOptions,
    EvidenceChoice,
    Flags,
    ModelFolder,
    NBestSize,
    Prepared,
    SamplingOptions,
    SourceFile,
    Threads,
    Trees,
    WeightsFile,
    command,
)
from dragoman.cli.shell.loading import load_translator, sample_drawer
from dragoman.cli.shell.terminal import runtime_of
from dragoman.core.errors import DataError
from dragoman.core.files import open_output
from dragoman.core.options import parse_options
from dragoman.core.runtime import Runtime
from dragoman.decision import RULES
from dragoman.decision.rule import Evidence
from dragoman.decision.settings import Decision, Draw, GridPoint, best_point, grid_density, grid_rules, search_grid
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.references import ReferencedText
from dragoman.model.source_trees import trees_for
from dragoman.sampling.schedule import Sampling
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
        model: ModelFolder,
        source: SourceFile,
        reference: ReferenceFiles,
        decision: Annotated[str, typer.Option(help=f"One of {', '.join(RULES.names())}.")],
        grid: Annotated[list[str], typer.Option(help="NAME=VALUE,VALUE,... for an option of the rule; repeatable.")],
        out: Annotated[Path, typer.Option(help="Where the best options go (TOML), for `translate --decision`.")],
        limits: Annotated[SearchLimits, Flags("Search")],
        space: Annotated[SpaceLimits, Flags("Space (the model's own by default)")],
        weights: WeightsFile = None,
        trees: Trees = None,
        decision_option: DecisionOptions = None,
        evidence: EvidenceChoice = None,
        nbest_size: NBestSize = None,
        sampling_option: SamplingOptions = None,
        seed: Annotated[int, typer.Option(min=0, help="Seed of samples.")] = 1,
        metric: Annotated[str, typer.Option(help="What is maximised; see `dragoman score --help`.")] = "bleu",
        plot: Annotated[Path | None, typer.Option(help="SVG of scores over the first option of the grid.")] = None,
        prepared: Prepared = False,
        threads: Threads = None,
    ) -> None:
        """Try a decision rule with all options of a grid on held-out text, and keep the best.

        The text is searched once; all points of the grid decide by the same evidence. Prints the score of each.
        """
        runtime = runtime_of(threads)
        rules = grid_rules(RULES.get(decision), decision_option or [], grid)
        chosen = Decision.of(decision, decision_option or [], evidence, nbest_size)
        measure = parse_metric(metric)
        translator = load_translator(model, weights, limits, space, runtime=runtime)
        parses = trees_for(translator.model, trees, runtime=runtime)
        text = ReferencedText.read(source, reference, translator.model.preparation(prepared=prepared), trees=parses)
        if not text.lines:
            raise DataError("has no sentences", path=source, expected="some to decide about")
        by_samples = chosen.evidence == "samples"
        draw = sample_drawer(translator, sampling_option, seed, runtime=runtime) if by_samples else None
        parts = _gathered(chosen, translator, text.lines, grid_density(rules), draw, runtime)
        scorer = measure.scorer(text.references)
        points = search_grid(rules, parts, scorer, runtime=runtime)
        best = best_point(points, measure)
        sampling = parse_options(Sampling, sampling_option or []) if by_samples else None
        found = Decision(best.rule, chosen.evidence, chosen.nbest_size, sampling)
        tuning = {"metric": metric, "score": round(best.score, 4), "source": str(source), "grid": grid}
        with open_output(out) as stream:
            stream.write(found.format(tuning).encode())
        if plot is not None:
            from dragoman.evaluation.figures.decisions import draw_grid
            from dragoman.evaluation.figures.svg import write_svg

            write_svg(plot, draw_grid(points, metric))
        _print(f"{decision} by {chosen.evidence}", points, best, metric)
        print_signature(measure, len(text.references))


def _gathered(
    decision: Decision,
    translator: Translator,
    lines: Sequence[str],
    density: float,
    draw: Draw | None,
    runtime: Runtime,
) -> list[Evidence]:
    """All evidence at once: every point of the grid decides by it."""
    parts: list[Evidence] = []
    done = 0
    with runtime.stage("gathering evidence") as progress_callback:
        for part in decision.gather(translator, lines, density=density, draw=draw):
            parts.append(part)
            done += len(part)
            progress_callback(done / len(lines))
    return parts


def _print(title: str, points: Sequence[GridPoint], best: GridPoint, metric: str) -> None:
    rows = [(*(value for _, value in point.options), point.score, "best" if point is best else "") for point in points]
    columns = [*(name for name, _ in points[0].options), metric, ""]
    terminal.output().print(terminal.table(title, columns, rows))
