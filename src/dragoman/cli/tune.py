"""`dragoman tune`: find weights that translate a tuning set best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.score import ReferenceFiles, print_signature
from dragoman.cli.shell import terminal
from dragoman.cli.shell.commands import MACHINE, MAIN
from dragoman.cli.shell.flags import Flags, ModelFolder, Prepared, Restart, Threads, Trees, command
from dragoman.cli.shell.terminal import Cluster, ClusterWait, SendModel, opened_runtime
from dragoman.core.errors import UsageError
from dragoman.core.options import parse_options
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.references import reference_files
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.tuning import TUNERS
from dragoman.tuning.problems.evidence import Decoding
from dragoman.tuning.runs.job import HeldOut, Job
from dragoman.tuning.runs.loop import Loop
from dragoman.tuning.runs.run import Run
from dragoman.tuning.runs.validator import Validation


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "tune",
        examples=[
            "dragoman tune --model model --source dev.fr --reference dev.en --out run",
            "dragoman tune --model model --source dev.fr --reference dev.en --method pro --seed 2 --out run2",
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
        source: Annotated[Path, typer.Option(help="Source text of the tuning set, one sentence a line.")],
        reference: ReferenceFiles,
        out: Annotated[Path, typer.Option(help="The run's folder: new, or one to go on with.")],
        loop: Annotated[Loop, Flags("Loop")],
        validation: Annotated[Validation, Flags("Learners (mira-online, risk-*, samplerank)")],
        decoding: Annotated[Decoding, Flags("Evidence")],
        limits: Annotated[SearchLimits, Flags("Search")],
        space: Annotated[SpaceLimits, Flags("Space (the model's own by default)")],
        method: Annotated[str, typer.Option(help=f"One of {', '.join(TUNERS.names())}.")] = "mert",
        method_option: Annotated[
            list[str] | None,
            typer.Option(help="NAME=VALUE for the method; repeatable. See `dragoman methods show METHOD`."),
        ] = None,
        metric: Annotated[
            str, typer.Option(help="What is optimised; see `dragoman methods list metric`, and `show` for options.")
        ] = "bleu",
        start: Annotated[Path | None, typer.Option(help="Weights to begin with; the model's by default.")] = None,
        fix: Annotated[
            list[str] | None, typer.Option(help="Leave these weights as they are: a name or pattern; repeatable.")
        ] = None,
        weight_range: Annotated[
            list[str] | None,
            typer.Option("--range", help="NAME=LOW,HIGH: where random starts are drawn for a name or pattern."),
        ] = None,
        held_out_source: Annotated[
            Path | None, typer.Option(help="Source text on which learners are judged; the tuning set by default.")
        ] = None,
        held_out_reference: Annotated[
            list[Path] | None, typer.Option(help="Its references; repeat the option for several.")
        ] = None,
        documents: Annotated[
            Path | None, typer.Option(help="A label for each line of the source, for features of documents.")
        ] = None,
        held_out_documents: Annotated[Path | None, typer.Option(help="The same for the held-out source.")] = None,
        trees: Trees = None,
        held_out_trees: Annotated[Path | None, typer.Option(help="The same for the held-out source.")] = None,
        prepared: Prepared = False,
        restart: Restart = False,
        resume_from: Annotated[
            int | None,
            typer.Option(min=0, help="Forget what the run did after this iteration, perhaps damaged, and go on there."),
        ] = None,
        seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 1,
        threads: Threads = None,
        cluster: Cluster = None,
        cluster_wait: ClusterWait = 10.0,
        send_model: SendModel = False,
    ) -> None:
        """Tune a model's weights: decode, merge n-best lists, optimise, and again, until nothing changes.

        The folder holds the options, one line in events.jsonl for each iteration, and weights.txt, always the best so
        far. A run that was stopped, by whatever, goes on when the command is given again.

        `dragoman methods list method` lists the methods, and `dragoman methods show mert` says what one of them does,
        what it costs and which options it has.
        """
        if restart and resume_from is not None:
            raise UsageError("--restart begins anew, and --resume-from goes on; expected one of them")
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
        with opened_runtime(cluster, threads, cluster_wait, model=model, send=send_model) as runtime:
            run = job.run(out, restart=restart, resume_from=resume_from, runtime=runtime)
        _print(run, model, metric)
        print_signature(parse_metric(metric), len(reference_files(held_out_reference or reference)))


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


def _print(run: Run, model: Path, metric: str) -> None:
    """Print the weights before and after; of sparse ones only how many there are."""
    before, found, events = run.weights(0), run.weights(), run.events()
    sign = 1 if parse_metric(metric).higher_is_better else -1
    best = max(event["score"] * sign for event in events) * sign
    sparse = Model.load(model).sparse_prefixes
    rows = [(name, before.get(name, 0.0), found[name]) for name in found if not name.startswith(sparse)]
    console = terminal.output()
    title = f"{run.folder}: {metric} {best:.2f}, {events[-1]['stop']}"
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
