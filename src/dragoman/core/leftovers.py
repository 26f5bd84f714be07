"""What processes that were killed left unfinished: how it is known, and that whoever goes on clears it away.

What is being written has a temporary name, and is held by its writer. A leftover that can be held has none any more,
whatever its number says: numbers of processes are given again, and disks are shared with other machines, whose writers
hold what they write too, if the file system knows their locks.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from pathlib import Path

from dragoman.core.holding import hold, is_at, open_existing

#: `.NAME.partial-PROCESS-LETTERS`; older versions held nothing, and their names had no letters at the end.
_LEFTOVER = re.compile(r"\.(?P<name>.+)\.(?P<kind>partial|old)-(?P<process>[0-9]{1,9})(?P<letters>-[0-9a-f]{8})?")


def temporary_name(final: Path, kind: str) -> Path:
    """A name for what is to become a file or folder (`partial`), or was it before (`old`), that nobody else has."""
    return final.with_name(f".{final.name}.{kind}-{os.getpid()}-{secrets.token_hex(4)}")


def is_leftover(path: Path) -> bool:
    """Whether a name is that of a file or folder that was never finished, of a process that may have been killed."""
    return _LEFTOVER.fullmatch(path.name) is not None


def clear_leftovers(folder: Path) -> None:
    """Remove what processes that are no more left in a folder and in all below it; links are not followed.

    If one was killed while it swapped folders, the old one is brought back.
    """
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            _clear(Path(place) / name)
        folders[:] = [name for name in folders if not is_leftover(Path(name))]


def clear_leftovers_of(final: Path) -> None:
    """Remove what was to become one file or folder, in the same way."""
    with contextlib.suppress(FileNotFoundError):
        for entry in [entry for entry in final.parent.iterdir() if entry.name.startswith(f".{final.name}.")]:
            if (found := _LEFTOVER.fullmatch(entry.name)) and found["name"] == final.name:
                _clear(entry)


def _clear(entry: Path) -> None:
    """Remove a leftover, if it is one that nobody holds.

    Where there are no locks, and for names of older versions, a process of its number is taken for its writer.
    """
    found = _LEFTOVER.fullmatch(entry.name)
    if found is None:
        return
    opened = open_existing(entry)
    try:
        known = None if opened is None else hold(opened)
        if known is False or ((known is None or not found["letters"]) and is_alive(int(found["process"]))):
            return
        if opened is not None and not is_at(entry, opened):
            return
        final = entry.with_name(found["name"])
        if found["kind"] == "old" and not os.path.lexists(final):
            entry.rename(final)
        else:
            remove_whole(entry)
    finally:
        if opened is not None:
            os.close(opened)


def remove_whole(entry: Path) -> None:
    """Remove a file, a link or a folder with all that is in it, as far as that is possible; nothing else is removed."""
    with contextlib.suppress(OSError):
        mode = entry.lstat().st_mode
        if stat.S_ISDIR(mode):
            shutil.rmtree(entry, ignore_errors=True)
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            entry.unlink()


def is_alive(pid: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
