"""N-best lists in anybody's format: the formats by name, and finding out which one a file has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import fspath
from typing import ClassVar

from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike, open_output, read_chunks
from dragoman.core.nbest import NBest
from dragoman.core.options import Options
from dragoman.core.progress import SILENT, Progress, ShareDone
from dragoman.core.registry import Registry
from dragoman.core.vocab import Vocab

_SNIFFED_BYTES = 1 << 16
_SNIFFED_LINES = 100


@dataclass(frozen=True)
class NBestFormat(Options, ABC):
    """A format of n-best lists; its fields are what the files themselves do not say.

    What `read` gives, `write` writes as it was, byte by byte if the file was written as the format's own programs
    write. Any n-best list can be written in any format that has a place for what it holds.
    """

    name: ClassVar[str]

    @abstractmethod
    def read(
        self, path: PathLike, *, sentences: int | None = None, vocab: Vocab | None = None, progress: Progress = SILENT
    ) -> NBest:
        """Read a file, compressed or not, adding its words to `vocab` (a new one by default).

        If `sentences` is given, the file must have hypotheses for each sentence from 0 up to that number; if not,
        missing sentences are only warned about, and are not in the result.
        """

    def write(self, path: PathLike, nbest: NBest, *, progress: Progress = SILENT) -> None:
        """Write a file, compressed by the ending of its name."""
        with progress.stage(f"writing {path}") as done, open_output(path) as stream:
            for block in self.blocks(nbest, path, progress, done):
                stream.write(block)

    @abstractmethod
    def blocks(
        self, nbest: NBest, path: PathLike = "-", progress: Progress = SILENT, done: ShareDone | None = None
    ) -> Iterator[bytes]:
        """Yield the lists as bytes of the format, for writing piece by piece; `path` is only for messages."""

    @classmethod
    @abstractmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Say whether the first lines of a file, without empty ones, may be in this format."""


NBEST_FORMATS = Registry("nbest_format", "dragoman.formats.nbest", NBestFormat)  # type: ignore[type-abstract]


def sniff(path: PathLike) -> type[NBestFormat]:
    """Guess the format of a file by what its first lines look like."""
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
    format: str | None = None,  # noqa: A002 - what it is
    *,
    sentences: int | None = None,
    vocab: Vocab | None = None,
    progress: Progress = SILENT,
) -> NBest:
    """Read an n-best list in the named format, or in the one that it seems to be in."""
    kind = sniff(path) if format is None else NBEST_FORMATS.get(format)
    return kind().read(path, sentences=sentences, vocab=vocab, progress=progress)


def with_other_look(error: DataError, path: PathLike, name: str) -> DataError:
    """Add to an error on the first line what the file looks like, if that is something else than format `name`."""
    try:
        guess = sniff(path).name if error.line == 1 else name
    except (DataError, UsageError):
        guess = name
    if guess == name:
        return error
    found = str(error).removeprefix(f"{fspath(path)}:1: ")
    return DataError(f"{found} (the file looks like {guess}, not {name})", path=path, line=1)
