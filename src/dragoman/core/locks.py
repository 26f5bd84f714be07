"""One at a time: whoever works in a folder holds a file that stands for it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from dragoman.core.errors import BusyError, DataError
from dragoman.core.files import PathLike, write_error
from dragoman.core.own_files import LOCK, clear_leftovers, clear_leftovers_of, hold, is_at


@contextlib.contextmanager
def locked(folder: PathLike) -> Iterator[None]:
    """Keep all others off a folder that stays, until the end of this, whatever end that is; the folder is made.

    What killed processes left in it is cleared away first. The lock is a file in the folder that stays too.
    """
    folder = Path(folder)
    with _held(folder / LOCK, folder):
        clear_leftovers(folder)
        yield


@contextlib.contextmanager
def output_locked(out: PathLike) -> Iterator[None]:
    """Keep all others from making a folder that is replaced as a whole; the lock stands beside it and goes away."""
    out = Path(os.path.abspath(out))  # noqa: PTH100 - a name for `.` and `..`, and links stay links
    lock = out.with_name(f".{out.name}.lock")
    with _held(lock, out):
        try:
            clear_leftovers_of(out)
            yield
        finally:
            lock.unlink(missing_ok=True)


@contextlib.contextmanager
def _held(lock: Path, folder: Path) -> Iterator[None]:
    opened = _opened(lock, folder)
    try:
        yield
    finally:
        os.close(opened)


def _opened(lock: Path, folder: Path) -> int:
    """Open and hold a lock; one that was removed while it was being had is made again."""
    while True:
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            opened = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:  # the folder went away between the two
            continue
        except OSError as error:
            raise write_error(folder, error) from None
        known = hold(opened)
        if known and is_at(lock, opened):
            return opened
        os.close(opened)
        if known is False:
            raise BusyError("is being worked on by another process", path=folder)
        if known is None:
            raise DataError("cannot be locked", path=folder, expected="a file system with locks")
