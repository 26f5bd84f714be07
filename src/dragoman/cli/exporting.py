"""`dragoman export`: write a model as files that another toolkit reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell.flags import Force, command, command_group, refuse_existing
from dragoman.core.live import live_progress
from dragoman.model.bundle import Model
from dragoman.model.moses import export_moses


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = command_group(app, "export")

    @command(group, "moses", examples=["dragoman export moses model --out moses-model"])
    def moses(
        model: Annotated[Path, typer.Argument(help="A model folder.")],
        out: Annotated[Path, typer.Option(help="The folder to make.")],
        force: Force = False,
    ) -> None:
        """Write moses.ini, phrase tables, reordering tables and ARPA files, all compressed."""
        refuse_existing(out, force)
        export_moses(Model.load(model), out, progress=live_progress())
