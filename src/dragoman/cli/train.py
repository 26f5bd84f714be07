"""`dragoman train`: train a phrase-based or hierarchical model from parallel text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.main import MACHINE, MAIN
from dragoman.cli.model import print_model
from dragoman.cli.shell.flags import ClusterMachine, Flags, Force, command, refuse_existing
from dragoman.core.checkpoint import StageCheckpoint
from dragoman.core.errors import UsageError
from dragoman.core.options import parse_options
from dragoman.core.workspace import Workspace, format_size, free_memory, memory_size
from dragoman.features import SPARSE_FEATURES, parse_feature
from dragoman.training.align import ALIGNERS
from dragoman.training.lm.kneser_ney import KneserNey
from dragoman.training.phrase_model import PhraseModel
from dragoman.training.pipeline import TrainRecipe, train_model
from dragoman.training.prepare import Cleaning, Preparation, prepare_bitext, read_target
from dragoman.training.refinements import Refinements
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
            "dragoman train --source train.fr --target train.en --hierarchical --second-lm-text news.en --lm-order 5"
            " --symmetrisation union --feature rule-class:generate=all --out model",
            "dragoman train --source train.fr --target train.en --classes 200 --feature boundary-tags --out model",
            "dragoman train --source train.fr --target train.en --preset moses --out plain-model",
            "dragoman train --source words.old --target words.new --units characters --boundaries --out model",
            "dragoman train --source train.fr.zst --target train.en.zst --memory 4G --temporary /scratch --out model",
            "dragoman train --source s --target t --aligner hmm --cluster tcp://10.0.0.1:8786 --out model",
            "dragoman train --source s --target t --alignment links --arpa lm.arpa.gz --prune-significance a+e --out m",
        ],
        panels={
            MAIN: ("source", "target", "out", "preset", "hierarchical", "lm_text"),
            "Word alignment": ("aligner", "aligner_option", "alignment"),
            "Rules of a hierarchical model": ("with_phrases", "on_demand"),
            "Language model": ("arpa", "second_lm_text"),
            "Features": ("feature",),
            MACHINE: ("memory", "temporary", "threads", "cluster", "cluster_wait"),
        },
    )
    def train(
        source: Annotated[Path, typer.Option(help="Source text, one sentence per line.")],
        target: Annotated[Path, typer.Option(help="Target text, one sentence per line.")],
        out: Annotated[Path, typer.Option(help="The model folder to create.")],
        preparation: Annotated[Preparation, Flags("Text")],
        cleaning: Annotated[Cleaning, Flags("Text")],
        phrase_model: Annotated[PhraseModel, Flags("Phrase table")],
        rule_model: Annotated[RuleModel, Flags("Rules of a hierarchical model", prefix="rule-")],
        kneser_ney: Annotated[KneserNey, Flags("Language model", prefix="lm-")],
        refinements: Annotated[Refinements, Flags("Features")],
        aligner: Annotated[str, typer.Option(help=f"One of {', '.join(ALIGNERS.names())}.")] = "auto",
        aligner_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for an option of the aligner; repeatable.")
        ] = None,
        alignment: Annotated[
            Path | None, typer.Option(help="Word alignment from another tool (Pharaoh format).")
        ] = None,
        lm_text: Annotated[
            list[Path] | None, typer.Option(help="Additional target-language text for the language model; repeatable.")
        ] = None,
        arpa: Annotated[
            list[Path] | None, typer.Option(help="A language model to use instead of estimating one; repeatable.")
        ] = None,
        second_lm_text: Annotated[
            list[Path] | None,
            typer.Option(help="Target-language text of a second language model; repeatable."),
        ] = None,
        feature: Annotated[
            list[str] | None,
            typer.Option(
                help="Sparse feature to add, NAME or NAME:OPTION=VALUE,..; repeatable."
                f" One of {', '.join(SPARSE_FEATURES.names())}."
            ),
        ] = None,
        hierarchical: Annotated[
            bool,
            typer.Option(
                "--hierarchical", help="Train a hierarchical model: rules with nonterminals instead of phrases."
            ),
        ] = False,
        with_phrases: Annotated[
            bool, typer.Option("--with-phrases", help="Add phrases as a second grammar of the hierarchical model.")
        ] = False,
        on_demand: Annotated[
            bool,
            typer.Option(
                "--on-demand", help="Store the aligned text instead of rules; extract rules when they are needed."
            ),
        ] = False,
        memory: Annotated[
            str | None,
            typer.Option(help="Memory for training, such as 4G or 800M. Default: half of the free memory."),
        ] = None,
        temporary: Annotated[
            Path | None,
            typer.Option(help="Folder for temporary files, used if memory is full. Default: the system's."),
        ] = None,
        machine: ClusterMachine = ClusterMachine(),
        force: Force = False,
    ) -> None:
        """Train a phrase-based or hierarchical model from parallel text.

        Tokenises, lower-cases and cleans the text, aligns words in both directions, extracts and scores phrase pairs
        with lexicalised reordering, or rules, and estimates a language model. Unless the preset is moses, the model
        gets word classes as well, a language model over them, and reordering by them (see --classes). The folder
        appears only when training is complete. Data that does not fit into memory goes to temporary files; the model
        does not depend on the memory. If training is killed, run the same command again: it continues after the last
        complete stage.
        """
        if (with_phrases or on_demand) and not hierarchical:
            raise UsageError("--with-phrases and --on-demand are for hierarchical models; expected --hierarchical too")
        refuse_existing(out, force)
        features = [parse_feature(SPARSE_FEATURES, one) for one in feature or []]
        chosen = parse_options(ALIGNERS.get(aligner), aligner_option or [])
        limit = free_memory() // 2 if memory is None else memory_size(memory)
        with (
            machine.open() as opened,
            Workspace(limit, temporary) as workspace,
            StageCheckpoint(out) as checkpoint,
        ):
            runtime = replace(opened, workspace=workspace, checkpoint=checkpoint)
            here = runtime.here()
            runtime.note(f"memory: {format_size(limit)}")
            if alignment is not None or any(one.needs_trees for one in features):
                preparation = preparation.with_whole_words()
            text = prepare_bitext(source, target, preparation, runtime=here)
            recipe = TrainRecipe(
                cleaning=cleaning,
                aligner=chosen,
                phrase_model=phrase_model,
                rule_model=rule_model if hierarchical else None,
                with_phrases=with_phrases,
                on_demand=on_demand,
                kneser_ney=kneser_ney,
                features=features,
            )
            model = train_model(
                text,
                refinements.refined(recipe, text, runtime=runtime),
                alignment=alignment,
                lm_texts=[read_target(path, text.settings, runtime=here) for path in lm_text or []],
                second_lm_texts=[read_target(path, text.settings, runtime=here) for path in second_lm_text or []],
                arpas=arpa or [],
                runtime=runtime,
            ).model
            with runtime.stage(f"writing {out}") as progress_callback:
                model.save(out, progress_callback)
        print_model(model, title=str(out))
