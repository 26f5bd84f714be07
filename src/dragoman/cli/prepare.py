"""`dragoman prepare`: raw text to a model's words, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.shell.flags import command
from dragoman.cli.shell.machine import Machine
from dragoman.core.files import open_output, read_lines
from dragoman.model.bundle import Model


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "prepare",
        examples=[
            "dragoman prepare --model model < test.fr > test.prepared.fr",
            "dragoman prepare --model model --side target test.en > test.prepared.en",
            "dragoman prepare --model model --undo test.words > test.txt",
        ],
    )
    def prepare(
        model: Annotated[Path, typer.Option(help="The model folder.")],
        text: Annotated[Path, typer.Argument(help="Text, one sentence a line.")] = Path("-"),
        side: Annotated[
            Literal["source", "target"], typer.Option(help="Whose language and rules: those of input or of references.")
        ] = "source",
        undo: Annotated[
            bool, typer.Option("--undo", help="Join the model's target words to text, with case, as translate does.")
        ] = False,
    ) -> None:
        """Prepare text as a model does: normal form, tokens, case; or turn its words into text again."""
        preparation = Model.load(model).preparation()
        lines = read_lines(text)
        with open_output("-") as stream:
            if undo:
                for line in lines:
                    stream.write(f"{preparation.restore([line])[0]}\n".encode())
                return
            prepared = preparation.source if side == "source" else preparation.target
            for line in prepared(lines, runtime=Machine().runtime()):
                stream.write(f"{line}\n".encode())
