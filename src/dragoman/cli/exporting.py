"""`dragoman export`: write a model as files that another toolkit reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell.flags import Force, command, command_group, refuse_existing
from dragoman.cli.shell.machine import Machine
from dragoman.model.bundle import Model
from dragoman.model.moses import export_moses
from dragoman.model.scfg import export_cdec, export_joshua


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = command_group(app, "export")

    @command(group, "moses", examples=["dragoman export moses model --out moses-model"])
    def moses(
        model: Annotated[Path, typer.Argument(help="A model folder.")],
        out: Annotated[Path, typer.Option(help="The folder to make.")],
        force: Force = False,
    ) -> None:
        """Write moses.ini, tables and ARPA files, compressed; a hierarchical model is written for moses_chart."""
        refuse_existing(out, force)
        export_moses(Model.load(model), out, runtime=Machine().runtime())

    @command(group, "cdec", examples=["dragoman export cdec model --out cdec-model"])
    def cdec(
        model: Annotated[Path, typer.Argument(help="The folder of a hierarchical model.")],
        out: Annotated[Path, typer.Option(help="The folder to make.")],
        force: Force = False,
    ) -> None:
        """Write a hierarchical model for cdec: cdec.ini (to be used in its folder), grammar, weights and ARPA files."""
        refuse_existing(out, force)
        export_cdec(Model.load(model), out, runtime=Machine().runtime())

    @command(group, "joshua", examples=["dragoman export joshua model --out joshua-model"])
    def joshua(
        model: Annotated[Path, typer.Argument(help="The folder of a hierarchical model.")],
        out: Annotated[Path, typer.Option(help="The folder to make.")],
        named: Annotated[bool, typer.Option("--named", help="Write NAME=LOGARITHM, not costs in their order.")] = False,
        force: Force = False,
    ) -> None:
        """Write the grammar of a hierarchical model for Joshua, and ARPA files; not its weights."""
        refuse_existing(out, force)
        export_joshua(Model.load(model), out, named=named, runtime=Machine().runtime())
