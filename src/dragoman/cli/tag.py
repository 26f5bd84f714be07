"""`dragoman tag`: part-of-speech tags for tokenised text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell.flags import command
from dragoman.cli.shell.terminal import runtime_of
from dragoman.core.errors import DataError
from dragoman.core.files import open_output, read_lines
from dragoman.core.options import parse_options
from dragoman.model.bundle import Model
from dragoman.training.tag import TAGGERS


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "tag",
        examples=[
            "dragoman tag --text train.tok.en --out train.tagged",
            "dragoman tag --text train.en --for-model model --out train.tagged",
            "dragoman tag --text train.tok.en --tags-only --out train.tags",
            "dragoman tag --text train.tok.de --tagger spacy --tagger-option model=de_core_news_sm --out train.tagged",
            "dragoman tag --text new.tok.fr --tagger most-frequent --tagger-option model=old.tagged --out new.tagged",
        ],
    )
    def tag(
        text: Annotated[Path, typer.Option(help="Tokenised text, one sentence a line; raw with --for-model.")],
        out: Annotated[Path, typer.Option(help="Where the tagged text goes.")] = Path("-"),
        tagger: Annotated[str, typer.Option(help=f"One of {', '.join(TAGGERS.names())}.")] = "textblob",
        tagger_option: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the tagger; repeatable.")] = None,
        for_model: Annotated[
            Path | None,
            typer.Option(help="Tokenise the text first, as this model's target text was; case stays."),
        ] = None,
        tags_only: Annotated[bool, typer.Option("--tags-only", help="Write NN instead of house|NN.")] = False,
    ) -> None:
        """Tag a text: one tag for one token, which stay as they are.

        The result is what `dragoman model add-features --tagged` takes. textblob is for English and comes with the
        extra `tag`; spacy takes any pipeline that you have installed; most-frequent learns from a tagged text.
        """
        chosen = parse_options(TAGGERS.get(tagger), tagger_option or [])
        lines: Iterable[str] = read_lines(text)
        if for_model is not None:
            prepared = replace(Model.load(for_model).preparation(), lowercase=False)
            lines = prepared.target(lines, runtime=runtime_of())
        try:
            with open_output(out) as stream:
                for pairs in chosen.tag_lines(lines):
                    row = (label if tags_only else f"{word}|{label}" for word, label in pairs)
                    stream.write((" ".join(row) + "\n").encode())
        except DataError as error:
            if error.path is None and error.line is not None:
                raise DataError(str(error).partition(": ")[2], path=text, line=error.line) from None
            raise
