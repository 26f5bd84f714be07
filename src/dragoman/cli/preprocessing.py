"""`dragoman align`: align the words of a parallel text.

`dragoman tag`: tag tokenised text with parts of speech.

`dragoman prepare`: tokenise and lower-case text as a model does, or undo it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.shell.flags import Machine, command
from dragoman.core.corpus import Bitext
from dragoman.core.errors import DataError
from dragoman.core.files import open_output, read_lines
from dragoman.core.options import parse_options
from dragoman.formats.pharaoh import write_links
from dragoman.model.bundle import Model
from dragoman.training.align import ALIGNERS
from dragoman.training.align.base import symmetrise
from dragoman.training.tag import TAGGERS

Combination = Literal[
    "grow-diag-final-and", "grow-diag-final", "grow-diag", "union", "intersection", "forward", "reverse"
]


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @command(
        app,
        "align",
        examples=[
            "dragoman align --source train.fr --target train.en > links",
            "dragoman align --source s --target t --aligner hmm --aligner-option iterations=10 --symmetrise union",
        ],
    )
    def align(
        source: Annotated[Path, typer.Option(help="Tokenised source text, one sentence per line.")],
        target: Annotated[Path, typer.Option(help="Tokenised target text, one sentence per line.")],
        out: Annotated[Path, typer.Option(help="Output file for the word alignment.")] = Path("-"),
        aligner: Annotated[str, typer.Option(help=f"One of {', '.join(ALIGNERS.names())}.")] = "auto",
        aligner_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for an option of the aligner; repeatable.")
        ] = None,
        symmetrise_by: Annotated[
            Combination,
            typer.Option("--symmetrise", help="Heuristic that combines the two directions, or one direction alone."),
        ] = "grow-diag-final-and",
        machine: Machine = Machine(),
    ) -> None:
        """Align the words of a parallel text in both directions; prints links like `0-0 1-2` (Pharaoh format)."""
        chosen = parse_options(ALIGNERS.get(aligner), aligner_option or [])
        directions = chosen.align(Bitext.read(source, target), runtime=machine.runtime())
        if symmetrise_by == "forward" or symmetrise_by == "reverse":
            links = getattr(directions, symmetrise_by)
        else:
            links = symmetrise(directions, symmetrise_by)
        write_links(out, links)

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
        text: Annotated[Path, typer.Option(help="Tokenised text, one sentence per line; raw text with --for-model.")],
        out: Annotated[Path, typer.Option(help="Output file for the tagged text.")] = Path("-"),
        tagger: Annotated[str, typer.Option(help=f"One of {', '.join(TAGGERS.names())}.")] = "textblob",
        tagger_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for an option of the tagger; repeatable.")
        ] = None,
        for_model: Annotated[
            Path | None,
            typer.Option(help="Tokenise the text first like this model's target text, but keep its case."),
        ] = None,
        tags_only: Annotated[
            bool, typer.Option("--tags-only", help="Write tags only: NN instead of house|NN.")
        ] = False,
    ) -> None:
        """Tag a text with one tag per token; the tokens do not change.

        Use the result for `dragoman model add-features --tagged`. textblob is for English and needs the extra `tag`;
        spacy uses any pipeline that is installed; most-frequent learns from a tagged text.
        """
        chosen = parse_options(TAGGERS.get(tagger), tagger_option or [])
        lines: Iterable[str] = read_lines(text)
        if for_model is not None:
            prepared = replace(Model.load(for_model).preparation(), lowercase=False)
            lines = prepared.target(lines, runtime=Machine().runtime())
        try:
            with open_output(out) as stream:
                for pairs in chosen.tag_lines(lines):
                    row = (label if tags_only else f"{word}|{label}" for word, label in pairs)
                    stream.write((" ".join(row) + "\n").encode())
        except DataError as error:
            if error.path is None and error.line is not None:
                raise DataError(str(error).partition(": ")[2], path=text, line=error.line) from None
            raise

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
        text: Annotated[Path, typer.Argument(help="Text, one sentence per line.")] = Path("-"),
        side: Annotated[
            Literal["source", "target"], typer.Option(help="Prepare as source text or as target text (references).")
        ] = "source",
        undo: Annotated[
            bool, typer.Option("--undo", help="Detokenise and recase target text instead, as `translate` does.")
        ] = False,
    ) -> None:
        """Prepare text as a model does (Unicode normal form, tokens, case), or undo it with --undo."""
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
