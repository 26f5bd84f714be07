"""Folders that were sent to a worker because it does not see ours: unpacked once, and found by what they hold."""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
from pathlib import Path

from dragoman.core.verified import cache_folder

_SENT = "sent"


def packed(folder: Path) -> bytes:
    """All files of a folder, as one."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.add(folder, arcname=".")
    return stream.getvalue()


def keep_sent(digest: str, files: bytes) -> None:
    """Unpack a folder, unless it is there already; several processes of a machine may do so at a time."""
    place = _place(digest)
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=place.parent))
    try:
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            archive.extractall(partial, filter="data")
        partial.rename(place)
    except OSError:
        if not place.exists():  # else another process was faster
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def place_of(path: Path, digest: str) -> Path:
    """Where a folder is on this machine: at its path, or where it was unpacked."""
    sent = _place(digest)
    return sent if sent.exists() else path


def _place(digest: str) -> Path:
    return cache_folder() / _SENT / digest
