"""`dragoman oracles`: list and draw the hope and fear translations of online MIRA for a sentence."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.score import ReferenceFiles, print_signature
from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Flags, Machine, ModelFolder, Prepared, SourceFile, WeightsFile, command
from dragoman.cli.shell.loading import load_translator
from dragoman.core.errors import UsageError
from dragoman.forest.hope import FEAR, Objective, hope
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.references import ReferencedText
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.tuning.problems.hope_fear import OBJECTIVES, HypothesisFinder, HypothesisSettings, oracle_lists


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "oracles",
        examples=[
            "dragoman oracles --model model --source dev.fr --reference dev.en --line 17 --out oracles.svg",
            "dragoman oracles --model m --weights run --source dev.fr --reference dev.en --mu 0 --mu 0.5 --out o.svg",
        ],
    )
    def oracles(
        model: ModelFolder,
        source: SourceFile,
        reference: ReferenceFiles,
        limits: Annotated[SearchLimits, Flags("Search")],
        space: Annotated[SpaceLimits, Flags("Search space (default: the model's settings)")],
        line: Annotated[int, typer.Option(min=1, help="Line number of the sentence, from 1.")] = 1,
        mu: Annotated[
            list[str] | None,
            typer.Option(
                help="Weight of the model score, from 0 to 1, or inf for fear; repeatable. Default: 0, 0.5, 1, inf."
            ),
        ] = None,
        nbest: Annotated[int, typer.Option(min=1, help="Number of translations for each mu.")] = 10,
        out: Annotated[Path | None, typer.Option(help="SVG file for the picture.")] = None,
        weights: WeightsFile = None,
        metric: Annotated[str, typer.Option(help="The metric B; see `dragoman score --help`.")] = "bleu",
        prepared: Prepared = False,
    ) -> None:
        """List the best translations of a sentence by (1 - mu) · B + mu · score for several mu, and draw them.

        B is the metric in the context of the lines before the sentence, times the source length, as in online MIRA
        (dragoman tune --method mira-online). With mu 0 only B counts, with mu 1 only the model score, and inf is MIRA's
        fear: high model score and low B. The first translation of mu 0.5 is MIRA's oracle (hope).
        """
        runtime = Machine(threads=1).runtime()
        translator = load_translator(model, weights, limits, space, runtime=runtime)
        preparation = translator.model.preparation(prepared=prepared)
        text = ReferencedText.read(source, reference, preparation, runtime=runtime)
        if line > len(text):
            raise UsageError(f"--line is {line}, but {source} has {len(text)} lines")
        objectives = dict(map(_objective, mu)) if mu else OBJECTIVES
        chosen = parse_metric(metric)
        finder = HypothesisFinder(
            translator,
            text.lines,
            chosen.scorer(text.references),
            1 if chosen.higher_is_better else -1,
            HypothesisSettings(best=nbest, hope=nbest, fear=nbest, beam=max(10, nbest)),
        )
        lists = oracle_lists(finder, line - 1, translator.weights, nbest, objectives)
        if out is not None:
            from dragoman.evaluation.figures.decisions import draw_hopes
            from dragoman.evaluation.figures.svg import write_svg

            write_svg(out, draw_hopes(lists, metric))
        found = [(name, *row) for name, rows in lists.items() for row in rows]
        terminal.output().print(terminal.table(text.lines[line - 1], ["mu", "B", "score", "translation"], found))
        print_signature(chosen, len(text.references))


def _objective(mu: str) -> tuple[str, Objective]:
    try:
        value = float(mu)
    except ValueError:
        value = math.nan
    if value == math.inf:
        return "inf", FEAR
    if not 0 <= value <= 1:
        raise UsageError(f"--mu is '{mu}'; expected a number from 0 to 1, or inf")
    return mu, hope(value)
