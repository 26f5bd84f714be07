"""Formats of n-best lists: their base, their registry, and recognition of the format of a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import fspath
from typing import ClassVar

import numpy as np

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import PathLike, open_output, read_chunks
from dragoman.core.nbest import NBest
from dragoman.core.options import Options, Registry
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime

# Large enough for a whole list on a single line.
_SNIFFED_BYTES = 1 << 20
_SNIFFED_LINES = 100
_CALLED = {"scores": "scores", "logprobs": "log-probabilities", "features": "features", "ids": "sentences' ids"}


@dataclass(frozen=True)
class NBestFormat(Options, ABC):
    """A format of n-best lists; its fields are options for what the files themselves do not say.

    Reading what `write` has written gives the same list. Files of decoders are written back byte by byte, if they were
    written as their own programs do. Any n-best list can be written in any format that supports its contents; numbers
    that a format does not support are left out with a warning.
    """

    name: ClassVar[str]
    #: Contents that the format supports besides the words.
    places: ClassVar[frozenset[str]] = frozenset({"scores", "logprobs", "features", "ids"})
    #: True if lists that are written one after the other form one file; false for a format with a header.
    piecewise: ClassVar[bool] = True

    @abstractmethod
    def read(
        self, path: PathLike, *, sentences: int | None = None, vocab: Vocab | None = None, runtime: Runtime = Runtime()
    ) -> NBest:
        """Read a file, compressed or not, adding its words to `vocab` (a new one by default).

        If `sentences` is given, the file must have hypotheses for that many sentences, from 0. Otherwise missing
        sentences only cause a warning, and are not in the result.
        """

    def read_blocks(
        self, path: PathLike, *, progress_callback: ProgressCallback | None = None, runtime: Runtime = Runtime()
    ) -> Iterator[NBest]:
        """Read a file in blocks of some sentences, as they come; each block has a vocabulary of its own.

        Sentences without ids are numbered on from block to block. `progress_callback` gets the fraction of the file
        that has been read. A format whose sentences can be anywhere in the file, or that needs other files, yields all
        of it as one block.
        """
        yield self.read(path, runtime=runtime)

    def write(self, path: PathLike, nbest: NBest, *, runtime: Runtime = Runtime()) -> None:
        """Write a file, compressed by the ending of its name."""
        with runtime.stage(f"writing {path}") as progress_callback, open_output(path) as stream:
            for block in self.format_blocks(nbest, path, progress_callback, runtime=runtime):
                stream.write(block)

    @abstractmethod
    def format_blocks(
        self, nbest: NBest, path: PathLike, progress_callback: ProgressCallback | None = None, *, runtime: Runtime
    ) -> Iterator[bytes]:
        """Yield the lists in this format, as blocks of bytes; `path` is for messages."""

    @classmethod
    @abstractmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if the first lines of a file, without empty ones, may be in this format."""

    def drop_unsupported(self, nbest: NBest, path: PathLike, *, runtime: Runtime = Runtime()) -> NBest:
        """Remove what the format does not support, with a warning; a missing score is the log-probability."""
        scores, logprobs = nbest.scores, nbest.logprobs
        if logprobs is not None and "logprobs" not in self.places:
            scores = np.where(np.isnan(scores), logprobs, scores)
            logprobs = None if np.isnan(nbest.scores).any() else logprobs
        there = {
            "scores": not np.isnan(scores).all(),
            "logprobs": logprobs is not None and not np.isnan(logprobs).all(),
            "features": len(nbest.features.ids) > 0,
            "ids": nbest.sentence_ids != (*range(len(nbest)),),
        }
        for name, called in _CALLED.items():
            if there[name] and name not in self.places:
                runtime.warn(f"{path}: the {called} are left out, because {self.name} has no field for them")
        return replace(
            nbest,
            scores=scores if "scores" in self.places else np.full(len(scores), np.nan),
            logprobs=logprobs if "logprobs" in self.places else None,
            features=nbest.features if "features" in self.places else FeatureRows.zeros(len(scores)),
            ids=nbest.ids if "ids" in self.places else None,
        )


NBEST_FORMATS = Registry("nbest_format", "dragoman.formats.nbest", NBestFormat)


def sniff(path: PathLike) -> type[NBestFormat]:
    """Guess the format of a file from its first lines."""
    if fspath(path) == "-":
        raise UsageError("the format of standard input cannot be guessed; name it")
    chunk = next(read_chunks(path, _SNIFFED_BYTES), None)
    lines = chunk.data.decode().split("\n")[:_SNIFFED_LINES] if chunk else []
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise DataError("the file is empty", path=path, expected="an n-best list")
    fitting = [name for name in NBEST_FORMATS.names() if NBEST_FORMATS.get(name).looks_like(lines)]
    if len(fitting) != 1:
        found = (
            f"the format may be {' or '.join(fitting)}" if fitting else "the first lines are in no format that we know"
        )
        raise DataError(found, path=path, expected=f"to be told which: {', '.join(NBEST_FORMATS.names())}")
    return NBEST_FORMATS.get(fitting[0])


def read_nbest(
    path: PathLike,
    format: str | None = None,  # noqa: A002 - the usual name
    *,
    sentences: int | None = None,
    vocab: Vocab | None = None,
    runtime: Runtime = Runtime(),
) -> NBest:
    """Read an n-best list in the named format, or in the format that it seems to have."""
    kind = sniff(path) if format is None else NBEST_FORMATS.get(format)
    return kind().read(path, sentences=sentences, vocab=vocab, runtime=runtime)


def continued_ids(first: int, count: int) -> tuple[int, ...] | None:
    """Return the numbers of `count` sentences without ids from `first` on; None for those from 0."""
    return tuple(range(first, first + count)) if first else None


def suggest_format(error: DataError, path: PathLike, name: str) -> DataError:
    """Add the format that a file looks like to an error on its first line, if it is not `name`."""
    try:
        guess = sniff(path).name if error.line == 1 else name
    except (DataError, UsageError):
        guess = name
    if guess == name:
        return error
    found = str(error).removeprefix(f"{fspath(path)}:1: ")
    return DataError(f"{found} (the file looks like {guess}, not {name})", path=path, line=1)
