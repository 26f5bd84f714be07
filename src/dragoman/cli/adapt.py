"""`dragoman adapt`: train models for one domain from in-domain and out-of-domain corpora."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.model import parse_named, parse_two_files, print_interpolation_weights, print_model
from dragoman.cli.shell.flags import Flags, Force, Machine, command, refuse_existing
from dragoman.core.options import parse_options
from dragoman.core.own_files import lock_output
from dragoman.training.adapt import SYSTEMS, Adaptation, AdaptRecipe, check_systems, domain_first
from dragoman.training.align import ALIGNERS
from dragoman.training.lm.kneser_ney import KneserNey
from dragoman.training.phrase_model import PhraseModel
from dragoman.training.prepare import Cleaning, Preparation
from dragoman.training.rules.model import RuleModel


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "adapt",
        examples=[
            "dragoman adapt --corpus in=mine.fr,mine.en --corpus out=web.fr,web.en --mixture perp "
            "--source dev.fr --reference dev.en --out model",
            "dragoman adapt --corpus in=mine.fr,mine.en --corpus a=a.fr,a.en --corpus b=b.fr,b.en --mixture joint "
            "--mixture perp --mixture pro-mix --source dev.fr --reference dev.en --out models",
            "dragoman adapt --corpus in=mine.fr,mine.en --corpus out=web.fr,web.en --mixture pro-mix --hierarchical "
            "--source dev.fr --reference dev.en --out grammars",
            "dragoman tune --model models/pro-mix --source dev.fr --reference dev.en --method pro-mix --out run",
        ],
    )
    def adapt(
        corpus: Annotated[
            list[str], typer.Option(help="NAME=SOURCE,TARGET: a parallel corpus, the in-domain one first; repeatable.")
        ],
        source: Annotated[Path, typer.Option(help="Source text of an in-domain tuning set.")],
        reference: Annotated[Path, typer.Option(help="Reference translation of the tuning set.")],
        mixture: Annotated[list[str], typer.Option(help=f"One of {', '.join(SYSTEMS)}; repeatable.")],
        out: Annotated[
            Path, typer.Option(help="The model folder to create, or the folder of all models if there are several.")
        ],
        adaptation: Annotated[Adaptation, Flags("Corpora")],
        preparation: Annotated[Preparation, Flags("Text")],
        cleaning: Annotated[Cleaning, Flags("Text")],
        phrase_model: Annotated[PhraseModel, Flags("Phrase table")],
        rule_model: Annotated[RuleModel, Flags("Rules of a hierarchical model", prefix="rule-")],
        kneser_ney: Annotated[KneserNey, Flags("Language model", prefix="lm-")],
        domain: Annotated[str | None, typer.Option(help="Name of the in-domain corpus. Default: the first.")] = None,
        aligner: Annotated[str, typer.Option(help=f"One of {', '.join(ALIGNERS.names())}.")] = "auto",
        aligner_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for an option of the aligner; repeatable.")
        ] = None,
        hierarchical: Annotated[
            bool, typer.Option("--hierarchical", help="Train hierarchical models: grammars instead of phrase tables.")
        ] = False,
        machine: Machine = Machine(),
        force: Force = False,
    ) -> None:
        """Train models for one domain from a little in-domain text and more text of other domains.

        All models have the same language model (the interpolation of the corpora's models that fits the tuning set
        best) and, except for in, the same reordering model (from all corpora concatenated). They differ in the phrase
        table: from the in-domain corpus alone (in); from all corpora concatenated (joint); the tables of the corpora
        interpolated with weights that minimise perplexity (perp), with equal weights (uniform), or with weights to be
        tuned (pro-mix); several tables side by side (log-linear); or the in-domain table filled up with pairs that only
        the others have (fill-up). The text of each table is aligned by itself; work that models share is done once.
        With --hierarchical, models have grammars in place of phrase tables, and no reordering model.
        """
        folders = {name: out if len(mixture) == 1 else out / name for name in mixture}
        for folder in folders.values():
            refuse_existing(folder, force)
        check_systems(mixture, "--mixture")
        files = {
            name: parse_two_files(value, "--corpus")
            for name, value in parse_named(corpus, "--corpus", "SOURCE,TARGET").items()
        }
        files = domain_first(files, domain)
        runtime = machine.runtime()
        chosen = parse_options(ALIGNERS.get(aligner), aligner_option or [])
        rules = rule_model if hierarchical else None
        recipe = AdaptRecipe(adaptation, preparation, cleaning, chosen, phrase_model, kneser_ney, rules)
        with contextlib.ExitStack() as locks:
            for folder in folders.values():
                locks.enter_context(lock_output(folder))
            systems = recipe.read(files, source, reference, runtime=runtime)
            for name, folder in folders.items():
                model = systems.model(name)
                with runtime.stage(f"writing {folder}"):
                    model.save(folder)
                print_model(model, title=str(folder))
                if "mixture" in model.history:
                    print_interpolation_weights(model, title=f"{folder}: shares of the corpora")
