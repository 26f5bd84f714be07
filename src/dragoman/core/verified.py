"""Files that have been checked once and need not be again, as long as nobody changes them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from dragoman.core.version import version

#: How many sets of files are remembered, the last ones.
_KEPT = 500

#: A file that was written this short a time ago may be written again without a later time of change.
_SETTLED_NS = 2_000_000_000


def fingerprint(files: Sequence[Path]) -> str | None:
    """What tells these files from all others without a look inside; None if one of them has only just been written."""
    found = hashlib.sha256(version().encode())
    now = time.time_ns()
    for file in files:
        about = file.stat()
        if not 0 <= about.st_mtime_ns < now - _SETTLED_NS:
            return None
        found.update(f"{file.name} {about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns}\n".encode())
    return found.hexdigest()


def is_verified(mark: str) -> bool:
    """Whether files with this fingerprint have been checked on this machine."""
    return mark in _marks()


def remember_verified(mark: str) -> None:
    """Note that files with this fingerprint have been checked; where nothing can be written, they are not noted."""
    place = _place()
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        marks = [*(other for other in _marks() if other != mark), mark][-_KEPT:]
        with tempfile.NamedTemporaryFile("w", dir=place.parent, encoding="ascii", delete=False) as stream:
            try:
                stream.write("".join(f"{mark}\n" for mark in marks))
                stream.close()
                Path(stream.name).replace(place)
            except OSError:
                Path(stream.name).unlink()


def _place() -> Path:
    return cache_folder() / "verified"


def cache_folder() -> Path:
    """Where things are kept that can be had again."""
    # A relative path means nothing here, as the specification of these folders says.
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    home = os.path.expanduser("~/.cache")  # noqa: PTH111 - that of a path fails where there is no home
    return (given if given.is_absolute() else Path(home)) / "dragoman"


def _marks() -> list[str]:
    try:
        return _place().read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return []
