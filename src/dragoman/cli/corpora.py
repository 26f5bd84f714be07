"""`dragoman corpora`: build parallel corpora from public packages or published files."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Force, Machine, command, command_group, refuse_existing
from dragoman.core.errors import UsageError
from dragoman.core.options import parse_options
from dragoman.corpora import CORPORA
from dragoman.corpora.archive import Archive
from dragoman.corpora.recipe import Recipe


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
            if issubclass(recipe, Archive):
                console.print(f"    [dim]licence: {recipe.licence}; see {recipe.home}[/dim]")
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
            "dragoman corpora build multi30k --out data/multi30k",
            "dragoman corpora build multi30k --from downloads --out data/multi30k",
        ],
    )
    def build(
        name: Annotated[str, typer.Argument(help="The corpus; see `dragoman corpora list`.")],
        out: Annotated[Path, typer.Option(help="The folder to create.")],
        option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for an option of the corpus; repeatable.")
        ] = None,
        folder: Annotated[
            Path | None, typer.Option("--from", help="Folder that has the files of a published corpus.")
        ] = None,
        mirror: Annotated[
            str | None, typer.Option(help="Address of a folder that has the files of a published corpus.")
        ] = None,
        seed: Annotated[int, typer.Option(help="Seed of the split into train, dev and test.")] = 1,
        force: Force = False,
    ) -> None:
        """Build a corpus: files with one sentence per line, and manifest.toml, which records their origin.

        Text from packages is cleaned, deduplicated and split into train, dev and test, but not tokenised; no sentence
        of dev or test occurs in train. Published corpora keep their own files. They are downloaded, or taken from a
        folder or a mirror, and checked by SHA-256; to resume an interrupted download, run the command again.
        """
        refuse_existing(out, force)
        corpus = CORPORA.get(name)
        given = [f"{key}={value}" for key, value in (("folder", folder), ("mirror", mirror)) if value is not None]
        if given and not issubclass(corpus, Archive):
            raise UsageError(f"corpus '{name}' is made from packages; expected no --from and no --mirror")
        recipe = parse_options(corpus, [*(option or []), *given])
        manifest = recipe.build(out, seed=seed, runtime=Machine().runtime())
        rows = [(step, count) for step, count in manifest.counts.items()]
        terminal.output().print(
            terminal.table(f"{name} in {out}", ["pairs" if issubclass(corpus, Recipe) else "lines of", "count"], rows)
        )
