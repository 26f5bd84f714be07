"""`dragoman import` and `dragoman export`: models of other toolkits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli import terminal
from dragoman.cli.flags import Force, command, refuse_existing
from dragoman.cli.model import print_model
from dragoman.model.bundle import Model
from dragoman.model.moses import export_moses, import_moses


def register(app: typer.Typer) -> None:
    """Add the commands."""
    importing = typer.Typer(no_args_is_help=True, help="Turn a model of another toolkit into one of ours.")
    exporting = typer.Typer(no_args_is_help=True, help="Write a model as files that another toolkit reads.")
    app.add_typer(importing, name="import")
    app.add_typer(exporting, name="export")

    @command(importing, "moses", examples=["dragoman import moses moses.ini --out model"])
    def import_(
        ini: Annotated[Path, typer.Argument(help="A moses.ini of version 1 or 2, tuned or not.")],
        out: Annotated[Path, typer.Option(help="The model folder to make.")],
        force: Force = False,
    ) -> None:
        """Import a Moses model: its phrase tables, reordering tables, language models and weights."""
        refuse_existing(out, force)
        progress = terminal.progress()
        model = import_moses(ini, progress=progress)
        with progress.stage(f"writing {out}"):
            model.save(out)
        print_model(model, title=str(out))

    @command(exporting, "moses", examples=["dragoman export moses model --out moses-model"])
    def export(
        model: Annotated[Path, typer.Argument(help="A model folder.")],
        out: Annotated[Path, typer.Option(help="The folder to make.")],
        force: Force = False,
    ) -> None:
        """Write moses.ini, phrase tables, reordering tables and ARPA files, all compressed."""
        refuse_existing(out, force)
        export_moses(Model.load(model), out, progress=terminal.progress())
