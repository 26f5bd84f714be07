"""What people hand in as text: a file by its path, or lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.core.files import read_lines

#: A file by its name or path, or lines.
Text = str | PathLike[str] | Iterable[str]

#: A file by its name or path.
File = str | PathLike[str]


def lines_of(text: Text) -> list[str]:
    """Return lines, from a file if a name or path is given."""
    if not isinstance(text, str | PathLike):
        return list(text)
    if not Path(text).exists():
        raise DataError("does not exist", path=text, expected="a file, or a list of lines")
    return list(read_lines(text))


def files_of(files: File | Sequence[File]) -> tuple[Path, ...]:
    """Return one or several files as paths."""
    return (Path(files),) if isinstance(files, str | PathLike) else tuple(Path(file) for file in files)
