"""`dragoman tune`: tune a model's weights on a tuning set.

`dragoman tune-decision`: tune the options of a decision rule on held-out text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.main import MACHINE, MAIN
from dragoman.cli.score import ReferenceFiles, print_signature
from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import (
    DecisionOptions,
    EvidenceChoice,
    Flags,
    Machine,
    ModelFolder,
    ModelMachine,
    NBestSize,
    Prepared,
    Restart,
    SamplingOptions,
    SourceFile,
    Trees,
    WeightsFile,
    command,
)
from dragoman.cli.shell.loading import load_translator, sample_drawer
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import open_output
from dragoman.core.options import parse_options
from dragoman.core.runtime import Runtime
from dragoman.decision import RULES
from dragoman.decision.rule import Evidence
from dragoman.decision.settings import (
    Decision,
    GridPoint,
    SampleSource,
    best_point,
    grid_decisions,
    grid_density,
    search_grid,
)
from dragoman.evaluation.figures.svg import require_matplotlib
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.metric import Scorer
from dragoman.metrics.references import ReferencedText, reference_files
from dragoman.model.bundle import Model
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.translator import Translator
from dragoman.tuning import TUNERS
from dragoman.tuning.problems.evidence import Decoding
from dragoman.tuning.runs.job import HeldOut, Job
from dragoman.tuning.runs.loop import UNCHANGED, Loop
from dragoman.tuning.runs.run import Run
from dragoman.tuning.runs.validator import Validation


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @command(
        app,
        "tune",
        examples=[
            "dragoman tune --model model --source dev.fr --reference dev.en --out run",
            "dragoman tune --model model --source dev.fr --reference dev.en --method mert --seed 2 --out run2",
            "dragoman tune --model m --source dev.fr --reference ref --method lus --method-option samples=9999 --out r",
            "dragoman tune --model model --source dev.fr --reference dev.en --evidence hypergraph --out run4",
            "dragoman tune --model model --source dev.fr --reference dev.en --method mira-online --out run6",
            "dragoman tune --model m --source dev.fr --reference ref --fix 'lr.*' --range lm=0.2,1 --out run5",
            "dragoman tune --model m --source dev.en --trees dev.trees --reference dev.fr --method mira --out run6",
            "dragoman tune --model model --source dev.fr --reference dev.en --cluster slurm.toml --out run7",
            "dragoman translate --model model --weights run < test.fr",
        ],
        panels={
            MAIN: ("model", "source", "reference", "out", "method"),
            "Method": ("method_option", "metric", "start", "fix", "weight_range"),
            "Texts": (
                *("held_out_source", "held_out_reference", "documents", "held_out_documents", "trees"),
                *("held_out_trees", "prepared"),
            ),
            MACHINE: ("threads", "cluster", "cluster_wait", "send_model"),
        },
    )
    def tune(
        model: ModelFolder,
        source: Annotated[Path, typer.Option(help="Source text of the tuning set, one sentence per line.")],
        reference: ReferenceFiles,
        out: Annotated[Path, typer.Option(help="The folder of the run: a new one, or one to continue.")],
        loop: Annotated[Loop, Flags("Loop")],
        validation: Annotated[Validation, Flags("Validation (learners, or --keep held-out)")],
        decoding: Annotated[Decoding, Flags("Evidence")],
        limits: Annotated[SearchLimits, Flags("Search")],
        space: Annotated[SpaceLimits, Flags("Search space (default: the model's settings)")],
        method: Annotated[str, typer.Option(help=f"One of {', '.join(TUNERS.names())}.")] = "mira",
        method_option: Annotated[
            list[str] | None,
            typer.Option(
                help="NAME=VALUE for an option of the method; repeatable. See `dragoman methods show METHOD`."
            ),
        ] = None,
        metric: Annotated[
            str, typer.Option(help="The metric to optimise; see `dragoman methods list metric`.")
        ] = "bleu",
        start: Annotated[Path | None, typer.Option(help="Initial weights. Default: the model's.")] = None,
        fix: Annotated[
            list[str] | None, typer.Option(help="Do not tune these weights: a name or pattern; repeatable.")
        ] = None,
        weight_range: Annotated[
            list[str] | None,
            typer.Option("--range", help="NAME=LOW,HIGH: range of random restarts for a name or pattern; repeatable."),
        ] = None,
        held_out_source: Annotated[
            Path | None, typer.Option(help="Held-out source text to validate on. Default: the tuning set.")
        ] = None,
        held_out_reference: Annotated[
            list[Path] | None, typer.Option(help="References of the held-out source; repeatable.")
        ] = None,
        documents: Annotated[
            Path | None, typer.Option(help="A document label for each source line, for document features.")
        ] = None,
        held_out_documents: Annotated[Path | None, typer.Option(help="The same for the held-out text.")] = None,
        trees: Trees = None,
        held_out_trees: Annotated[Path | None, typer.Option(help="The same for the held-out text.")] = None,
        prepared: Prepared = False,
        restart: Restart = False,
        resume_from: Annotated[
            int | None,
            typer.Option(min=0, help="Discard all iterations after this one, for example damaged ones, and continue."),
        ] = None,
        seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
        machine: ModelMachine = ModelMachine(),
    ) -> None:
        """Tune a model's weights: decode, merge n-best lists, optimise, and repeat until the weights converge.

        The folder of the run holds the options, a line in events.jsonl for each iteration, and weights.txt with the
        best weights so far. To continue an interrupted run, give the same command again.

        The default, mira, tunes any number of features; mert tunes dense ones only, as Moses does. `dragoman methods
        list method` lists the methods, and `dragoman methods show mira` explains one, with its cost and its options.
        """
        if restart and resume_from is not None:
            raise UsageError("--restart starts again, but --resume-from continues; expected one of them")
        job = Job(
            model=model,
            source=source,
            references=tuple(reference),
            tuner=parse_options(TUNERS.get(method), method_option or []),
            metric=metric,
            loop=loop,
            validation=validation,
            held_out=_held_out(held_out_source, held_out_reference, held_out_documents, held_out_trees),
            documents=documents,
            trees=trees,
            decoding=decoding,
            limits=limits,
            space=space,
            start=start,
            fixed=tuple(fix or ()),
            ranges=dict(_range(text) for text in weight_range or []),
            prepared=prepared,
            seed=seed,
        )
        with machine.open_for(model) as runtime:
            run = job.run(out, restart=restart, resume_from=resume_from, runtime=runtime)
        _print_weights(run, model, metric)
        print_signature(parse_metric(metric), len(reference_files(held_out_reference or reference)))

    @command(
        app,
        "tune-decision",
        examples=[
            "dragoman tune-decision --model model --weights run --source dev.fr --reference dev.en "
            "--decision lattice-mbr --grid scale=1,2,5,10 --grid p=0.6,0.8 --out decision.toml --plot grid.svg",
            "dragoman tune-decision --model model --weights run --source dev.fr --reference dev.en "
            "--decision mbr --evidence samples --grid scale=1,5,20,50 --out decision.toml",
            "dragoman translate --model model --weights run --decision decision.toml < test.fr",
        ],
    )
    def tune_decision(
        model: ModelFolder,
        source: SourceFile,
        reference: ReferenceFiles,
        decision: Annotated[str, typer.Option(help=f"One of {', '.join(RULES.names())}.")],
        grid: Annotated[
            list[str], typer.Option(help="NAME=VALUE,VALUE,...: values to try for an option of the rule; repeatable.")
        ],
        out: Annotated[Path, typer.Option(help="Output file for the best options (TOML), for `translate --decision`.")],
        limits: Annotated[SearchLimits, Flags("Search")],
        space: Annotated[SpaceLimits, Flags("Search space (default: the model's settings)")],
        weights: WeightsFile = None,
        trees: Trees = None,
        decision_option: DecisionOptions = None,
        evidence: EvidenceChoice = None,
        nbest_size: NBestSize = None,
        sampling_option: SamplingOptions = None,
        seed: Annotated[int, typer.Option(min=0, help="Random seed of sampling.")] = 1,
        metric: Annotated[str, typer.Option(help="The metric to optimise; see `dragoman score --help`.")] = "bleu",
        plot: Annotated[Path | None, typer.Option(help="SVG of scores over the first option of the grid.")] = None,
        prepared: Prepared = False,
        machine: Machine = Machine(),
    ) -> None:
        """Try a decision rule with all combinations of a grid of options on held-out text, and save the best.

        The text is decoded once, and all points of the grid use the same evidence. Samples have the scale at which they
        are drawn: with --evidence samples, --grid scale=1,10,50 draws them anew for each scale, at the temperature of
        --sampling-option (1) divided by the scale. Prints the score of each point.
        """
        if plot is not None:
            require_matplotlib()
        runtime = machine.runtime()
        chosen = Decision.of(RULES.get(decision).name, decision_option or [], evidence, nbest_size)
        if chosen.evidence == "samples":
            chosen = replace(chosen, sampling=parse_options(Sampling, sampling_option or []))
        candidates = grid_decisions(chosen, decision_option or [], grid)
        measure = parse_metric(metric)
        translator = load_translator(model, weights, limits, space, runtime=runtime)
        parses = translator.model.open_trees(trees, runtime=runtime)
        text = ReferencedText.read(source, reference, translator.model.preparation(prepared=prepared), trees=parses)
        if not text.lines:
            raise DataError("has no sentences", path=source, expected="at least one sentence")
        points = _grid_points(candidates, translator, text.lines, measure.scorer(text.references), seed, runtime)
        best = best_point(points, measure)
        found, _ = candidates[points.index(best)]
        tuning = {"metric": metric, "score": round(best.score, 4), "source": str(source), "grid": grid}
        with open_output(out) as stream:
            stream.write(found.format(tuning).encode())
        if plot is not None:
            from dragoman.evaluation.figures.decisions import draw_grid
            from dragoman.evaluation.figures.svg import write_svg

            write_svg(plot, draw_grid(points, metric))
        _print_grid(f"{decision} by {chosen.evidence}", points, best, metric)
        print_signature(measure, len(text.references))


def _held_out(
    source: Path | None, references: Sequence[Path] | None, documents: Path | None, trees: Path | None
) -> HeldOut | None:
    if (source is None) != (not references):
        raise UsageError("--held-out-source and --held-out-reference go together")
    if documents is not None and source is None:
        raise UsageError("--held-out-documents goes with --held-out-source")
    if trees is not None and source is None:
        raise UsageError("--held-out-trees goes with --held-out-source")
    return None if source is None else HeldOut(source, tuple(references or ()), documents, trees)


def _print_weights(run: Run, model: Path, metric: str) -> None:
    """Print the dense weights before and after tuning, and the number of sparse ones."""
    before, found, events = run.weights(0), run.weights(), run.events()
    sign = 1 if parse_metric(metric).higher_is_better else -1
    best = max(event["score"] * sign for event in events) * sign
    sparse = Model.load(model).sparse_prefixes
    rows = [(name, before.get(name, 0.0), found[name]) for name in found if not name.startswith(sparse)]
    console = terminal.output()
    title = f"{run.folder}: {metric} {best:.2f}, {events[-1]['stop']}"
    title += f"; {UNCHANGED}" if events[-1].get("unchanged") else ""
    console.print(terminal.table(title, ["weight", "before", "now"], rows))
    if len(rows) < len(found):
        more = f"and {len(found) - len(rows):,} sparse weights: see dragoman weights top {run.folder}"
        console.print(more, markup=False)


def _range(text: str) -> tuple[str, tuple[float, float]]:
    name, _, bounds = text.partition("=")
    try:
        low, high = map(float, bounds.split(","))
    except ValueError:
        low, high = math.inf, math.inf
    if not (name and math.isfinite(low) and math.isfinite(high) and low <= high):
        raise UsageError(f"--range is '{text}'; expected NAME=LOW,HIGH with two numbers")
    return name, (low, high)


def _grid_points(
    candidates: Sequence[tuple[Decision, tuple[tuple[str, str], ...]]],
    translator: Translator,
    lines: Sequence[str],
    scorer: Scorer,
    seed: int,
    runtime: Runtime,
) -> list[GridPoint]:
    """Score all points of the grid, in order; those with the same samples, lists or hypergraphs share them."""
    found = dict[int, GridPoint]()
    for sampling in dict.fromkeys(decision.sampling for decision, _ in candidates):
        group = [i for i, (decision, _) in enumerate(candidates) if decision.sampling == sampling]
        rules = [(candidates[i][0].rule, candidates[i][1]) for i in group]
        draw = None if sampling is None else sample_drawer(translator, sampling, seed, runtime=runtime)
        parts = _gather_evidence(candidates[group[0]][0], translator, lines, grid_density(rules), draw, runtime)
        found.update(zip(group, search_grid(rules, parts, scorer, runtime=runtime), strict=True))
    return [found[i] for i in range(len(candidates))]


def _gather_evidence(
    decision: Decision,
    translator: Translator,
    lines: Sequence[str],
    density: float,
    draw: SampleSource | None,
    runtime: Runtime,
) -> list[Evidence]:
    """Gather the evidence that some points of the grid share."""
    parts: list[Evidence] = []
    done = 0
    with runtime.stage("gathering evidence") as share:
        for part in decision.gather(translator, lines, density=density, draw=draw):
            parts.append(part)
            done += len(part)
            share(done / len(lines))
    return parts


def _print_grid(title: str, points: Sequence[GridPoint], best: GridPoint, metric: str) -> None:
    rows = [(*(value for _, value in point.options), point.score, "best" if point is best else "") for point in points]
    columns = [*(name for name, _ in points[0].options), metric, ""]
    terminal.output().print(terminal.table(title, columns, rows))
