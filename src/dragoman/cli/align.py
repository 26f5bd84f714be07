"""`dragoman align`: word alignment of a parallel text, as Pharaoh links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.shell.flags import Threads, command
from dragoman.cli.shell.terminal import runtime_of
from dragoman.core.corpus import Bitext
from dragoman.core.options import parse_options
from dragoman.formats.pharaoh import write_links
from dragoman.training.align import ALIGNERS
from dragoman.training.align.base import symmetrise

Combination = Literal[
    "grow-diag-final-and", "grow-diag-final", "grow-diag", "union", "intersection", "forward", "reverse"
]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "align",
        examples=[
            "dragoman align --source train.fr --target train.en > links",
            "dragoman align --source s --target t --aligner hmm --aligner-option iterations=10 --symmetrise union",
        ],
    )
    def align(
        source: Annotated[Path, typer.Option(help="Tokenised source text, one sentence a line.")],
        target: Annotated[Path, typer.Option(help="Tokenised target text, one sentence a line.")],
        out: Annotated[Path, typer.Option(help="Where the links go.")] = Path("-"),
        aligner: Annotated[str, typer.Option(help=f"One of {', '.join(ALIGNERS.names())}.")] = "auto",
        aligner_option: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the aligner.")] = None,
        symmetrise_by: Annotated[
            Combination,
            typer.Option("--symmetrise", help="How the two directions are combined, or one of them alone."),
        ] = "grow-diag-final-and",
        threads: Threads = None,
    ) -> None:
        """Align the words of a parallel text, both directions at once; prints links like `0-0 1-2`."""
        chosen = parse_options(ALIGNERS.get(aligner), aligner_option or [])
        directions = chosen.align(Bitext.read(source, target), runtime=runtime_of(threads))
        if symmetrise_by == "forward" or symmetrise_by == "reverse":
            links = getattr(directions, symmetrise_by)
        else:
            links = symmetrise(directions, symmetrise_by)
        write_links(out, links)
