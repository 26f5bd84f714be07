"""What commands that translate begin with: a translator for the model, the lines of a text, a sampler."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from dragoman.core.errors import DataError
from dragoman.core.files import read_blocks, read_chunks
from dragoman.core.options import options_from
from dragoman.core.progress import SILENT
from dragoman.core.runtime import Runtime
from dragoman.decision.evidence import Draw
from dragoman.formats.documents import read_documents
from dragoman.model.bundle import Model
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
    chains = Sampler.of(translator, options_from(Sampling, options or []))
    return partial(chains.sample, seed=seed, features=False, runtime=runtime)
