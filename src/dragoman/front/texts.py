"""Texts as users give them (paths, strings, lists), and the runtime of a call.

Where a text of many lines is expected (a corpus, references, outputs, lists), a `Path` is a file, a list of strings is
its lines, and a string is the name of an existing file. Where sentences are expected, a string is a sentence,
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
from dragoman.core.runtime import RequiredFile, Runtime, Workers

#: A file by its name or path, or lines.
Text = str | PathLike[str] | Iterable[str]

#: A file by its name or path.
File = str | PathLike[str]

#: A sentence as a string, several as lines, or a file of sentences by its path.
Sentences = str | PathLike[str] | Iterable[str]


def given_file(text: object) -> Path | None:
    """Return the file of a text given as a path or as the name of an existing file; refuse other strings."""
    if isinstance(text, str) and ("\n" in text or not _exists(text)):
        raise UsageError(
            f"found the string '{shorten(text)}', which is not a file; expected a Path, or a list of lines"
        )
    return Path(text) if isinstance(text, str | PathLike) else None


def lines_of(text: Text) -> list[str]:
    """Return the lines of a text."""
    file = given_file(text)
    return _checked(text) if file is None else list(read_lines(file))


def sentences_of(text: Sentences) -> list[str]:
    """Return sentences: one per line of a string or a file."""
    if isinstance(text, str):
        return text.split("\n")
    return list(read_lines(text)) if isinstance(text, PathLike) else _checked(text)


def check_words(words: Iterable[str]) -> list[str]:
    """Return a list of words; refuse a string, which would be a list of letters."""
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
    """Texts as files: lists of lines are written to a temporary folder, which exists until the end of the context."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dragoman-")

    def __enter__(self) -> TextFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def path(self, text: Text, name: str) -> Path:
        """Return the path of a text; write lines to a file of this name."""
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
    """Return lines that are given as a list; refuse anything else."""
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
    """Return a runtime of this process, by default with a thread for each core."""
    return Runtime(threads=threads or available_cores(), progress=choose_progress(progress))


@contextlib.contextmanager
def open_runtime(
    cluster: str | None,
    threads: int | None = None,
    progress: Progress | bool = False,
    *,
    needs: Sequence[RequiredFile] = (),
) -> Iterator[Runtime]:
    """Open a runtime: of this process, or with the workers of a cluster, which must have what the work needs."""
    runtime = runtime_of(threads, progress)
    with Workers.of(cluster, threads=runtime.threads, progress=runtime.progress) as workers:
        workers.require(needs)
        yield replace(runtime, workers=workers)
