"""Texts as users give them (paths, strings, lists), and what calls run on.

Where a text of many lines is expected (a corpus, references, outputs, lists), a `Path` is a file, a list of strings is
its lines, and a string is the name of a file that must be there. Where sentences are expected, a string is a sentence,
and a `Path` a file of sentences.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

from dragoman.core.display import shorten
from dragoman.core.errors import UsageError
from dragoman.core.files import open_output, read_lines
from dragoman.core.progress import Progress, available_cores, choose_progress
from dragoman.core.runtime import Runtime
from dragoman.core.work.workers import RequiredFile, Workers

#: A file by its name or path, or lines.
Text = str | PathLike[str] | Iterable[str]

#: A file by its name or path.
File = str | PathLike[str]

#: A sentence as a string, several as lines, or a file of sentences by its path.
Sentences = str | PathLike[str] | Iterable[str]


def given_file(text: object) -> Path | None:
    """Return the file that a text is given as: a path, or the name of one that is there; other strings are refused."""
    if isinstance(text, str) and ("\n" in text or not _exists(text)):
        raise UsageError(f"found the string '{shorten(text)}', which is no file; expected a Path, or a list of lines")
    return Path(text) if isinstance(text, str | PathLike) else None


def lines_of(text: Text) -> list[str]:
    """Return the lines of a text of many."""
    file = given_file(text)
    return _checked(text) if file is None else list(read_lines(file))


def sentences_of(text: Sentences) -> list[str]:
    """Return sentences: a string has one a line, a file too."""
    if isinstance(text, str):
        return text.split("\n")
    return list(read_lines(text)) if isinstance(text, PathLike) else _checked(text)


def words_of(words: Iterable[str]) -> list[str]:
    """Return words that are given one by one; a string would be its letters."""
    if isinstance(words, str | PathLike):
        raise UsageError(f"found '{shorten(str(words))}'; expected a list of words")
    return _checked(words)


def file_of(text: File) -> Path:
    """Return the path of a text that must be a file."""
    file = given_file(text)
    if file is None:
        raise UsageError(f"found {_kind(text)}; expected a Path: this text must be a file")
    return file


def files_of(files: File | Sequence[File]) -> tuple[Path, ...]:
    """Return one or several files as paths."""
    return (Path(files),) if isinstance(files, str | PathLike) else tuple(Path(file) for file in files)


class TextFiles:
    """Texts as files, for what reads files: lists of lines wait in a temporary folder, until the end of this."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dragoman-")

    def __enter__(self) -> TextFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def path(self, text: Text, name: str) -> Path:
        """Return the path of a text; of lines, that of a file of this name."""
        file = given_file(text)
        if file is None:
            file = Path(self._folder.name) / name
            with open_output(file) as stream:
                stream.writelines(f"{line}\n".encode() for line in _checked(text))
        return file


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long for a name, or with a sign that none has
        return False


def _checked(lines: Any) -> list[str]:
    """Lines that are given as such."""
    try:
        found = list(lines)
    except TypeError:
        raise UsageError(f"found {_kind(lines)}; expected a Path, or a list of lines") from None
    wrong = next((line for line in found if not isinstance(line, str)), None)
    if wrong is not None:
        raise UsageError(f"found {_kind(wrong)} among the lines; expected strings")
    broken = next((line for line in found if "\n" in line), None)
    if broken is not None:
        raise UsageError(f"the line '{shorten(broken)}' has a line end in it; expected one sentence in each string")
    return found


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


def runtime_of(threads: int | None = None, progress: Progress | bool = False) -> Runtime:
    """This process, with so many threads, by default as many as there are cores."""
    return Runtime(threads=threads or available_cores(), progress=choose_progress(progress)).here()


@contextlib.contextmanager
def opened_runtime(
    cluster: str | None,
    threads: int | None = None,
    progress: Progress | bool = False,
    *,
    needs: Sequence[RequiredFile] = (),
) -> Iterator[Runtime]:
    """The same, or the workers of a cluster, which must have what the work needs."""
    runtime = runtime_of(threads, progress)
    with Workers.of(cluster, threads=runtime.threads, progress=runtime.progress) as workers:
        workers.require(needs)
        yield replace(runtime, workers=workers)
