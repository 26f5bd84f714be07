"""A folder that may come from anywhere: only regular files that lie inside are read, and not too much of each."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from dragoman.core.errors import DataError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: A pipe or a device that has just taken the place of a file must not keep us waiting.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_DEEPEST = 32
_LARGEST_INTEGER = 2**63


@dataclass(frozen=True)
class ConfinedFolder:
    """A folder and all below it, by paths relative to it; links are not followed, wherever they lead."""

    root: Path

    def folders(self, path: PurePosixPath) -> list[str]:
        """Return the names of the folders in one; none if it is gone."""
        try:
            with self._opened(path) as here, os.scandir(here) as entries:
                return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return []

    def has(self, path: PurePosixPath) -> bool:
        """Whether there is a file of any kind, or a folder."""
        return self._mode(path) != 0

    def has_file(self, path: PurePosixPath) -> bool:
        """Whether there is a regular file."""
        return stat.S_ISREG(self._mode(path))

    def read(self, path: PurePosixPath, most: int, *, head: bool = False) -> bytes:
        """Read a regular file of at most `most` bytes; refuse a longer one, or read its `head` only.

        A file that is not there is a FileNotFoundError.
        """
        try:
            with self._opened(path.parent) as here:
                _check_kind(path.name, os.stat(path.name, dir_fd=here, follow_symlinks=False).st_mode)
                file = os.open(path.name, _FILE, dir_fd=here)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror})", path=path.name) from None
        with os.fdopen(file, "rb") as stream:
            found = os.fstat(file)
            _check_kind(path.name, found.st_mode)
            size = found.st_size
            data = b"" if size > most and not head else stream.read(most + 1)
        if max(size, len(data)) > most and not head:
            raise DataError(f"has {max(size, len(data)):,} bytes", path=path.name, expected=f"at most {most:,}")
        return data[:most]

    def _mode(self, path: PurePosixPath) -> int:
        """Return the mode of a file or folder; 0 if there is none."""
        try:
            with self._opened(path.parent) as here:
                return os.stat(path.name, dir_fd=here, follow_symlinks=False).st_mode
        except OSError:
            return 0

    @contextlib.contextmanager
    def _opened(self, path: PurePosixPath) -> Iterator[int]:
        """Open a folder by way of all folders that it is in."""
        here = os.open(self.root, _FOLDER & ~os.O_NOFOLLOW)  # the root may be a link: the server's owner gave it
        try:
            for part in path.parts:
                if part in ("..", "/"):
                    raise NotADirectoryError(path)
                below = os.open(part, _FOLDER, dir_fd=here)
                os.close(here)
                here = below
            yield here
        finally:
            os.close(here)


def _check_kind(name: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        raise DataError(f"is {kinds.get(stat.S_IFMT(mode), 'a device')}", path=name, expected="a regular file")


def check_plain(value: Any, name: str) -> None:
    """Refuse content that JSON cannot hold: numbers of hundreds of digits, dates, half characters, deep nesting."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > _DEEPEST:
            raise DataError("is nested deeply", path=name, expected=f"at most {_DEEPEST} levels")
        if isinstance(one, dict):
            waiting += [(part, depth + 1) for pair in one.items() for part in pair]
        elif isinstance(one, list):
            waiting += [(part, depth + 1) for part in one]
        elif isinstance(one, int) and abs(one) >= _LARGEST_INTEGER:
            raise DataError("holds a number that is too large", path=name, expected="numbers below 2^63")
        elif isinstance(one, str):
            try:
                one.encode()
            except UnicodeEncodeError:
                raise DataError("holds half a character", path=name, expected="text that UTF-8 can hold") from None
        elif one is not None and not isinstance(one, int | float):
            raise DataError(f"holds a {type(one).__name__}", path=name, expected="numbers and text")
