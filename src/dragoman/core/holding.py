"""Files and folders that are held: by a lock of the system, which ends with the process that has it, whatever its end.

Process numbers are given again, and mean nothing on another machine; a lock that can be had says that nobody is there.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO


def hold(opened: int | IO[bytes]) -> bool | None:
    """Lock what was opened, until it is closed; False if somebody has it, None where there are no locks to be had."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
    return True


def is_at(path: Path, opened: int) -> bool:
    """Whether a path still names what was opened: it may have been removed, or replaced, since."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(opened))  # noqa: PTH116 - of a link itself
    except FileNotFoundError:
        return False


def open_existing(path: Path) -> int | None:
    """Open a file or folder to lock it, but no link, and without waiting for what may stand behind its name."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None


def held_folder(make: Callable[[], Path]) -> tuple[Path, int]:
    """Make a new folder and hold it; returns its path and what has to be closed to let it go."""
    while True:
        made = make()
        opened = open_existing(made)
        if opened is not None:
            if hold(opened) is not False and is_at(made, opened):
                return made, opened
            os.close(opened)
        # Else somebody took it for a leftover before it was held.
