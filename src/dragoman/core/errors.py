"""Errors that a user can cause, each one sentence and a non-zero exit; and the version that they occur in."""

from __future__ import annotations

import errno
import os
from functools import cache
from importlib.util import find_spec


class DragomanError(Exception):
    """Base of all errors in the user's input; the command line prints the message and exits with `exit_code`.

    A message names options as in Python, between backticks: `restart=True`, `trees=`. The command line prints the flag
    instead.
    """

    exit_code = 1


class DataError(DragomanError):
    """Invalid data, usually in a file.

    >>> str(DataError("found 3 scores", path="table.gz", line=7, expected="4, as on line 1"))
    'table.gz:7: found 3 scores; expected 4, as on line 1'
    """

    def __init__(
        self,
        found: str,
        *,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        expected: str | None = None,
    ):
        place = "" if path is None else f"{os.fspath(path)}:"
        place += "" if line is None else f"{line}:" if place else f"line {line}:"
        tail = f"; expected {expected}" if expected else ""
        super().__init__(f"{place} {found}{tail}".strip())
        self.found = found
        self.path = path
        self.line = line


class BusyError(DataError):
    """A file or folder that another process is working on."""


class UsageError(DragomanError):
    """Invalid options, alone or in combination."""

    exit_code = 2


def write_error(path: str | os.PathLike[str], error: OSError) -> DataError | BrokenPipeError:
    """Return the error to raise when `path` could not be written; a broken pipe stays a broken pipe."""
    if isinstance(error, BrokenPipeError):
        return error
    reason = "the disk is full" if error.errno == errno.ENOSPC else (error.strerror or str(error))
    return DataError(f"could not be written: {reason}; nothing was changed", path=path)


@cache
def version() -> str:
    """Return Dragoman's version."""
    from importlib import metadata

    return metadata.version("dragoman")


def require_package(module: str, package: str, *, extra: str, purpose: str) -> None:
    """Refuse to go on without an optional package; one sentence says what needs it and what to install.

    >>> require_package("json", "JSON", extra="json", purpose="a manifest")
    >>> require_package("no_such_module", "no-such-package", extra="plots", purpose="drawing")
    Traceback (most recent call last):
    ...
    dragoman.core.errors.UsageError: drawing needs no-such-package; install it with: pip install 'dragoman[plots]'
    """
    if find_spec(module) is None:
        raise UsageError(f"{purpose} needs {package}; install it with: pip install 'dragoman[{extra}]'")
