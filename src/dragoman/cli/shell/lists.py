"""What the commands that take anybody's lists have in common: which format, in which order, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike, read_lines
from dragoman.core.options import options_from
from dragoman.formats.nbest.format import NBEST_FORMATS, NBestFormat, sniff
from dragoman.formats.nbest.order import Id, Wanted, read_ids

Format = Annotated[
    str | None, typer.Option("--format", help=f"One of {', '.join(NBEST_FORMATS.names())}; guessed by default.")
]
FormatOptions = Annotated[list[str] | None, typer.Option(help="NAME=VALUE of one of the format's options; repeatable.")]
Order = Annotated[
    Path | None,
    typer.Option(help="Ids in the order wanted: one a line, or JSON lines with `id` or `custom_id` (a batch's input)."),
]
Source = Annotated[
    Path | None,
    typer.Option(help="Source text, whose order is wanted; for lists that carry their sources."),
]
FailedLines = Annotated[
    Literal["empty", "skip", "refuse"] | None,
    typer.Option(
        "--failed",
        help="Sentences of JSON without hypotheses: empty (the default; they keep their lines), skip, refuse.",
    ),
]
Ids = Annotated[bool, typer.Option("--ids", help="Write `id<TAB>text` in place of the text.")]
MissingNumbers = Annotated[
    str,
    typer.Option(
        "--missing",
        help="Where some hypotheses lack a number: refuse, drop (these hypotheses), or a value, which is filled in and "
        "marked by a feature NAME.missing.",
    ),
]


def chosen_format(
    path: Path, name: str | None, options: Sequence[str] | None, failed: str | None = None
) -> NBestFormat:
    """The format that was named, or that the file looks like, with its options."""
    kind = sniff(path) if name is None else NBEST_FORMATS.get(name)
    if failed is not None and not hasattr(kind, "failed"):
        raise UsageError(f"--failed is for formats of JSON, in which a sentence can have failed; {path} is {kind.name}")
    return options_from(kind, [*(options or []), *([] if failed is None else [f"failed={failed}"])])


def wanted_order(order: Path | None, source: Path | None) -> Wanted | None:
    """The order that somebody wants, if there is one."""
    if order is not None and source is not None:
        raise UsageError("--order and --source both say in which order lists are; give one of them")
    if order is not None:
        return Wanted(order, ids=read_ids(order))
    return None if source is None else Wanted(source, sources=[*read_lines(source)])


def with_id(name: Id, text: str) -> str:
    """A line of the output with its id."""
    return f"{' '.join(str(name).split())}\t{text}"


def read_numbers(path: PathLike) -> NDArray[np.float64]:
    """Read a file with a number a line; NaN where a line is empty or says so."""
    values = []
    for line, text in enumerate(read_lines(path), 1):
        try:
            values.append(float(text) if text.strip() else math.nan)
        except ValueError:
            raise DataError(f"found '{text}'", path=path, line=line, expected="a number") from None
    return np.array(values)
