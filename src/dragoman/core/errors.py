"""Errors that a user can cause, each one sentence and a non-zero exit; and the version that they occur in."""

from __future__ import annotations

import os
from functools import cache


class DragomanError(Exception):
    """Anything that is wrong with what the user gave us; the command line prints it and exits with `exit_code`.

    An option that a message names is written as in Python, between backticks: `restart=True`, `trees=`. The command
    line prints its flag.
    """

    exit_code = 1


class DataError(DragomanError):
    """A file holds something other than it should.

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
    """Somebody else is working on it."""


class UsageError(DragomanError):
    """Options that do not make sense, alone or together."""

    exit_code = 2


@cache
def version() -> str:
    """Return Dragoman's version."""
    from importlib import metadata

    return metadata.version("dragoman")
