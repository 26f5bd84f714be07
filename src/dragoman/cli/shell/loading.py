"""Loading for commands: translators, source texts, samplers, n-best lists and numbers."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import count_lines, read_blocks, read_lines
from dragoman.core.options import parse_options
from dragoman.core.progress import SILENT
from dragoman.core.runtime import Runtime
from dragoman.decision.settings import SampleSource
from dragoman.formats.nbest.format import NBEST_FORMATS, NBestFormat, sniff
from dragoman.formats.nbest.order import Id, RequestedOrder, read_ids
from dragoman.model.bundle import Model
from dragoman.sampling.global_features import read_documents
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.translator import Translator

#: Size in bytes of texts that are too long to be read twice.
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
    """Load a model and make a translator; `weights` is a file or a run to use instead of the model's weights."""
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
    """Read a text in blocks of lines as they come, and the document labels if there are any.

    With labels the whole text is read at once, because there must be one label for each line.
    """
    if documents is None:
        return read_blocks(path), None
    lines = [line for block in read_blocks(path) for line in block]
    return [lines], read_documents(documents, len(lines))


def quiet_beside_output(*, runtime: Runtime) -> Runtime:
    """Return the runtime without progress if a progress bar would be drawn between lines of output."""
    return replace(runtime, progress=SILENT) if sys.stdout.isatty() and sys.stderr.isatty() else runtime


def try_count_lines(path: Path) -> int | None:
    """Count the lines of a text; None if it cannot be read twice, or is too long."""
    try:
        if str(path) == "-":  # a redirected file can be opened once more, where the system lets us
            path = Path(f"/proc/self/fd/{sys.stdin.fileno()}")
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LONG_TO_COUNT:
            return None
        return count_lines(path)
    except (OSError, ValueError, DataError):  # the error will be reported when the text is read
        return None


def sample_drawer(
    translator: Translator, options: Sampling, seed: int, *, runtime: Runtime = Runtime()
) -> SampleSource:
    """Return a function that draws samples as evidence for a decision rule."""
    chains = Sampler.of(translator, options)
    return partial(chains.evidence, seed=seed, features=False, runtime=runtime)


Format = Annotated[
    str | None, typer.Option("--format", help=f"One of {', '.join(NBEST_FORMATS.names())}. Default: guess.")
]
FormatOptions = Annotated[list[str] | None, typer.Option(help="NAME=VALUE for an option of the format; repeatable.")]
Order = Annotated[
    Path | None,
    typer.Option(
        help="File of ids in the order of the output: one per line, or JSON lines with `id` or `custom_id` (the input "
        "of a batch)."
    ),
]
Source = Annotated[
    Path | None,
    typer.Option(help="Source text in the order of the output, for lists that contain their sources."),
]
FailedLines = Annotated[
    Literal["empty", "skip", "refuse"] | None,
    typer.Option(
        "--failed",
        help="Sentences without hypotheses in JSON formats: print an empty line (default), skip, or refuse.",
    ),
]
Ids = Annotated[bool, typer.Option("--ids", help="Write `id<TAB>text` instead of the text.")]
MissingNumbers = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="If hypotheses lack a number: refuse (default), drop (these hypotheses), or a value to fill in, marked by "
        "a feature NAME.missing. The file of weights keeps it.",
    ),
]


def chosen_format(
    path: Path, name: str | None, options: Sequence[str] | None, failed: str | None = None
) -> NBestFormat:
    """Return the format given by name, or guessed from the file, with its options."""
    kind = sniff(path) if name is None else NBEST_FORMATS.get(name)
    if failed is not None and not hasattr(kind, "failed"):
        raise UsageError(f"--failed is for formats of JSON, in which a sentence can have failed; {path} is {kind.name}")
    return parse_options(kind, [*(options or []), *([] if failed is None else [f"failed={failed}"])])


def output_order(order: Path | None, source: Path | None) -> RequestedOrder | None:
    """Return the order of the output that the user asks for, if any."""
    if order is not None and source is not None:
        raise UsageError("--order and --source both give the order of lists; give one of them")
    if order is not None:
        return RequestedOrder(order, ids=read_ids(order))
    return None if source is None else RequestedOrder(source, sources=[*read_lines(source)])


def with_id(name: Id, text: str) -> str:
    """Return a line of the output with its id."""
    return f"{' '.join(str(name).split())}\t{text}"
