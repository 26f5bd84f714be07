"""`dragoman import`: turn a model of another toolkit into one of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.model import print_model
from dragoman.cli.shell.flags import Force, command, command_group, refuse_existing
from dragoman.core.live import live_progress
from dragoman.model.moses import import_moses


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = command_group(app, "import")

    @command(group, "moses", examples=["dragoman import moses moses.ini --out model"])
    def moses(
        ini: Annotated[Path, typer.Argument(help="A moses.ini of version 1 or 2, tuned or not.")],
        out: Annotated[Path, typer.Option(help="The model folder to make.")],
        force: Force = False,
    ) -> None:
        """Import a Moses model: its phrase tables, reordering tables, language models and weights."""
        refuse_existing(out, force)
        progress = live_progress()
        model = import_moses(ini, progress=progress)
        with progress.stage(f"writing {out}"):
            model.save(out)
        print_model(model, title=str(out))
