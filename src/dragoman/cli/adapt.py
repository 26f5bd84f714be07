"""`dragoman adapt`: several corpora in, of one domain and others; models that combine them out."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.mixing import named, print_shares, two_files
from dragoman.cli.model import print_model
from dragoman.cli.shell.flags import Flags, Force, Threads, command, refuse_existing
from dragoman.cli.shell.terminal import runtime_of
from dragoman.core.options import parse_options
from dragoman.core.own_files import lock_output
from dragoman.training.adapt import SYSTEMS, Adaptation, AdaptRecipe, check_systems, domain_first
from dragoman.training.align import ALIGNERS
from dragoman.training.lm.kneser_ney import KneserNey
from dragoman.training.phrases import PhraseModel
from dragoman.training.prepare import Cleaning, Preparation


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
            "dragoman tune --model models/pro-mix --source dev.fr --reference dev.en --method pro-mix --out run",
        ],
    )
    def adapt(
        corpus: Annotated[
            list[str], typer.Option(help="NAME=SOURCE,TARGET: a parallel text, that of the domain first; repeatable.")
        ],
        source: Annotated[Path, typer.Option(help="Source text of a tuning set of the domain.")],
        reference: Annotated[Path, typer.Option(help="Its translation.")],
        mixture: Annotated[list[str], typer.Option(help=f"One of {', '.join(SYSTEMS)}; repeatable.")],
        out: Annotated[Path, typer.Option(help="The model folder to make, or if there are several, their folder.")],
        adaptation: Annotated[Adaptation, Flags("Corpora")],
        preparation: Annotated[Preparation, Flags("Text")],
        cleaning: Annotated[Cleaning, Flags("Text")],
        phrase_model: Annotated[PhraseModel, Flags("Phrase table")],
        kneser_ney: Annotated[KneserNey, Flags("Language model", prefix="lm-")],
        domain: Annotated[str | None, typer.Option(help="The corpus of the domain; the first by default.")] = None,
        aligner: Annotated[str, typer.Option(help=f"One of {', '.join(ALIGNERS.names())}.")] = "auto",
        aligner_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE of one of the aligner's options; repeatable.")
        ] = None,
        threads: Threads = None,
        force: Force = False,
    ) -> None:
        """Train models of one domain from a little text of it and more of others.

        Their language model is the mixture of the corpora's that fits the tuning set best, their orientations are those
        of all corpora together, and they differ in the phrase table: that of the domain's corpus alone (in), of all
        corpora concatenated (joint), the tables of the corpora mixed by perplexity (perp) or in equal shares (uniform)
        or with shares to tune (pro-mix), beside each other (log-linear), or the first filled up with what only the
        others have (fill-up). Corpora are aligned and extracted once for all of them.
        """
        folders = {name: out if len(mixture) == 1 else out / name for name in mixture}
        for folder in folders.values():
            refuse_existing(folder, force)
        check_systems(mixture, "--mixture")
        files = {
            name: two_files(value, "--corpus") for name, value in named(corpus, "--corpus", "SOURCE,TARGET").items()
        }
        files = domain_first(files, domain)
        runtime = runtime_of(threads)
        chosen = parse_options(ALIGNERS.get(aligner), aligner_option or [])
        recipe = AdaptRecipe(adaptation, preparation, cleaning, chosen, phrase_model, kneser_ney)
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
                    print_shares(model, title=f"{folder}: shares of the corpora")
