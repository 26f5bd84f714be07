"""What commands that translate begin with: a translator for the model, the lines of a text, a sampler."""

from __future__ import annotations

import math
import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike, read_blocks, read_chunks, read_lines
from dragoman.core.options import parse_options
from dragoman.core.progress import SILENT
from dragoman.core.runtime import Runtime
from dragoman.decision.settings import Draw
from dragoman.formats.nbest.format import NBEST_FORMATS, NBestFormat, sniff
from dragoman.formats.nbest.order import Id, RequestedOrder, read_ids
from dragoman.model.bundle import Model
from dragoman.sampling.global_features import read_documents
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.translator import Translator

#: Bytes of a text that is not read twice.
_LONG_TO_COUNT = 1 << 28


def load_translator(
    model: Path,
    weights: Path | None,
    limits: SearchLimits,
    space: SpaceLimits,
    *,
    climb: Literal["gloss", "beam"] | None = None,
    markup: bool = False,
    runtime: Runtime = Runtime(),
) -> Translator:
    """Load a model and make a translator of it; `weights` are a file or a run, in place of the model's."""
    loaded = Model.load(model)
    return Translator.of(
        loaded,
        None if weights is None else loaded.read_weights(weights, runtime=runtime),
        limits=limits,
        space=space,
        climbing=None if climb is None else HillClimbing(start=climb),
        markup=markup,
        runtime=runtime.quiet(),
    )


def read_source(path: Path, documents: Path | None) -> tuple[Iterable[Sequence[str]], list[str] | None]:
    """Read a text in the blocks in which its lines come, and the labels of their documents if these matter.

    All of it is read at once only where labels have to be as many.
    """
    if documents is None:
        return read_blocks(path), None
    lines = [line for block in read_blocks(path) for line in block]
    return [lines], read_documents(documents, len(lines))


def beside_output(*, runtime: Runtime) -> Runtime:
    """The same runtime for what prints as it goes: it says nothing where a bar would be drawn between its lines."""
    return replace(runtime, progress=SILENT) if sys.stdout.isatty() and sys.stderr.isatty() else runtime


def lines_in(path: Path) -> int | None:
    """How many lines a text has, if it can be read twice and that does not take long."""
    try:
        if str(path) == "-":  # a redirected file can be opened once more, where the system lets us
            path = Path(f"/proc/self/fd/{sys.stdin.fileno()}")
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LONG_TO_COUNT:
            return None
        return sum(chunk.data.count(b"\n") for chunk in read_chunks(path))
    except (OSError, ValueError, DataError):  # whoever reads it will say what is wrong
        return None


def sample_drawer(
    translator: Translator, options: Sequence[str] | None, seed: int, *, runtime: Runtime = Runtime()
) -> Draw:
    """What draws samples as evidence for a decision rule."""
    chains = Sampler.of(translator, parse_options(Sampling, options or []))
    return partial(chains.sample, seed=seed, features=False, runtime=runtime)


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
    return parse_options(kind, [*(options or []), *([] if failed is None else [f"failed={failed}"])])


def wanted_order(order: Path | None, source: Path | None) -> RequestedOrder | None:
    """The order that somebody wants, if there is one."""
    if order is not None and source is not None:
        raise UsageError("--order and --source both say in which order lists are; give one of them")
    if order is not None:
        return RequestedOrder(order, ids=read_ids(order))
    return None if source is None else RequestedOrder(source, sources=[*read_lines(source)])


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
