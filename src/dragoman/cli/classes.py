"""`dragoman classes`: estimate word classes from a text, show them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Flags, Machine, command, command_group
from dragoman.core.checkpoint import StageCheckpoint
from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.model.bundle import Model
from dragoman.model.word_classes import WordClasses
from dragoman.training.classes import Clustering, estimate_classes


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = command_group(app, "classes")

    @command(
        group,
        "estimate",
        examples=[
            "dragoman classes estimate train.en --out classes.en",
            "dragoman classes estimate train.en.gz --classes 200 --starts 5 --out classes.en",
        ],
    )
    def estimate(
        options: Annotated[Clustering, Flags("Classes")],
        text: Annotated[Path, typer.Argument(help="Tokenised text, one sentence per line.")] = Path("-"),
        out: Annotated[Path, typer.Option(help="The file to write: word, tab, class.")] = Path("-"),
        machine: Machine = Machine(),
    ) -> None:
        """Estimate word classes by the exchange algorithm, and write them as mkcls does.

        If this is killed, run the same command again: it continues after the last complete pass.
        """
        runtime, corpus = machine.runtime(), Corpus.read(text)
        if out == Path("-"):
            estimate_classes(corpus, options, runtime=runtime).write(out)
            return
        with StageCheckpoint(out) as checkpoint:
            found = estimate_classes(corpus, options, runtime=replace(runtime, checkpoint=checkpoint))
            found.write(out)
        runtime.note(f"{found.number} classes of {len(found):,} words, log-likelihood {found.log_likelihood:,.0f}")

    @command(
        group,
        "show",
        examples=["dragoman classes show classes.en", "dragoman classes show model --side source --words 20"],
    )
    def show(
        classes: Annotated[Path, typer.Argument(help="A file of word classes, or a model folder.")],
        side: Annotated[str, typer.Option(help="Of a model: source or target.")] = "target",
        words: Annotated[int, typer.Option(help="Words to show of each class.", min=1)] = 10,
    ) -> None:
        """Show the classes of a file or a model: how many words each has, and the first of them."""
        found = _load(classes, side)
        rows = [(i, len(those), " ".join(those[:words])) for i, those in enumerate(found.members(), 1)]
        title = f"{classes}: {found.number} classes of {len(found):,} words"
        if found.log_likelihood is not None:
            title += f", log-likelihood {found.log_likelihood:,.0f}"
        terminal.output().print(terminal.table(title, ["class", "words", "the first of them"], rows))


def _load(path: Path, side: str) -> WordClasses:
    if not path.is_dir():
        return WordClasses.read(path)
    found = Model.load(path).word_classes
    if side not in found:
        raise UsageError(f"{path} has no word classes of '{side}'; expected one of {', '.join(found) or 'none'}")
    return found[side]
