"""`dragoman train`: parallel text in, model out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.model import print_model
from dragoman.cli.shell.commands import MACHINE, MAIN
from dragoman.cli.shell.flags import Flags, Force, Threads, command, refuse_existing
from dragoman.cli.shell.terminal import Cluster, ClusterWait, opened_runtime
from dragoman.core.checkpoint import Checkpoint
from dragoman.core.errors import UsageError
from dragoman.core.options import parse_options
from dragoman.core.workspace import Workspace, format_size, free_memory, memory_size
from dragoman.training.align import ALIGNERS
from dragoman.training.lm.kneser_ney import KneserNey
from dragoman.training.phrases import PhraseModel
from dragoman.training.pipeline import train as train_model
from dragoman.training.prepare import Cleaning, Preparation, prepare, read_target
from dragoman.training.rules.model import RuleModel


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "train",
        examples=[
            "dragoman train --source train.fr --target train.en --out model",
            "dragoman train --source train.fr.gz --target train.en.gz --tokenised --lm-order 5 --out model",
            "dragoman train --source train.fr --target train.en --hierarchical --rule-max-span 12 --out model",
            "dragoman train --source words.old --target words.new --units characters --boundaries --out model",
            "dragoman train --source train.fr.zst --target train.en.zst --memory 4G --temporary /scratch --out model",
            "dragoman train --source s --target t --aligner hmm --cluster tcp://10.0.0.1:8786 --out model",
            "dragoman train --source s --target t --alignment links --arpa lm.arpa.gz --prune-significance a+e --out m",
        ],
        panels={
            MAIN: ("source", "target", "out", "hierarchical", "lm_text"),
            "Word alignment": ("aligner", "aligner_option", "alignment"),
            "Rules of a hierarchical model": ("with_phrases", "on_demand"),
            "Language model": ("arpa",),
            MACHINE: ("memory", "temporary", "threads", "cluster", "cluster_wait"),
        },
    )
    def train(
        source: Annotated[Path, typer.Option(help="Source text, one sentence a line.")],
        target: Annotated[Path, typer.Option(help="Target text, one sentence a line.")],
        out: Annotated[Path, typer.Option(help="The model folder to make.")],
        preparation: Annotated[Preparation, Flags("Text")],
        cleaning: Annotated[Cleaning, Flags("Text")],
        phrase_model: Annotated[PhraseModel, Flags("Phrase table")],
        rule_model: Annotated[RuleModel, Flags("Rules of a hierarchical model", prefix="rule-")],
        kneser_ney: Annotated[KneserNey, Flags("Language model", prefix="lm-")],
        aligner: Annotated[str, typer.Option(help=f"One of {', '.join(ALIGNERS.names())}.")] = "auto",
        aligner_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE of one of the aligner's options; repeatable.")
        ] = None,
        alignment: Annotated[Path | None, typer.Option(help="Word links made elsewhere (Pharaoh format).")] = None,
        lm_text: Annotated[
            list[Path] | None, typer.Option(help="More target-language text for the language model; repeatable.")
        ] = None,
        arpa: Annotated[
            list[Path] | None, typer.Option(help="A finished language model to use instead; repeatable.")
        ] = None,
        hierarchical: Annotated[
            bool, typer.Option("--hierarchical", help="Train a hierarchical model: rules with holes, not phrases.")
        ] = False,
        with_phrases: Annotated[
            bool, typer.Option("--with-phrases", help="Phrases too, as a second grammar of a hierarchical model.")
        ] = False,
        on_demand: Annotated[
            bool,
            typer.Option("--on-demand", help="Keep the aligned text and no rules: they are looked up when needed."),
        ] = False,
        memory: Annotated[
            str | None,
            typer.Option(help="Memory for training, as 4G or 800M; half of what is free by default."),
        ] = None,
        temporary: Annotated[
            Path | None,
            typer.Option(help="Folder for temporary files, used if memory does not suffice; the system's by default."),
        ] = None,
        threads: Threads = None,
        force: Force = False,
        cluster: Cluster = None,
        cluster_wait: ClusterWait = 10.0,
    ) -> None:
        """Train a phrase-based or hierarchical model from parallel text.

        Tokenises and lower-cases, cleans, aligns words in both directions, extracts and scores phrase pairs with
        lexicalised reordering, or rules, and estimates a language model. The folder appears only when all is done. The
        model is the same whatever the memory: what does not fit waits in temporary files. If training is
        killed, the same command goes on with the last stage that was whole.
        """
        if (with_phrases or on_demand) and not hierarchical:
            raise UsageError("--with-phrases and --on-demand are for hierarchical models; expected --hierarchical too")
        refuse_existing(out, force)
        chosen = parse_options(ALIGNERS.get(aligner), aligner_option or [])
        limit = free_memory() // 2 if memory is None else memory_size(memory)
        with (
            opened_runtime(cluster, threads, cluster_wait) as opened,
            Workspace(limit, temporary) as workspace,
            Checkpoint(out) as checkpoint,
        ):
            runtime = replace(opened, workspace=workspace, checkpoint=checkpoint)
            here = runtime.here()
            runtime.note(f"memory: {format_size(limit)}")
            text = prepare(source, target, preparation, runtime=here)
            model = train_model(
                text.bitext,
                cleaning=cleaning,
                aligner=chosen,
                phrase_model=phrase_model,
                rule_model=rule_model if hierarchical else None,
                with_phrases=with_phrases,
                on_demand=on_demand,
                kneser_ney=kneser_ney,
                alignment=alignment,
                lm_texts=[read_target(path, text.settings, runtime=here) for path in lm_text or []],
                arpas=arpa or [],
                settings=text.settings,
                casing=text.casing,
                runtime=runtime,
            ).model
            with runtime.stage(f"writing {out}") as progress_callback:
                model.save(out, progress_callback)
        print_model(model, title=str(out))
