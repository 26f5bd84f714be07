"""The checksum of a file: CRC-32, in models, runs, experiments and checkpoints alike."""

from __future__ import annotations

import zlib
from pathlib import Path


def checksum(path: Path) -> int:
    """Read a file from end to end and return its checksum."""
    value = 0
    with path.open("rb") as stream:
        while block := stream.read(1 << 22):
            value = zlib.crc32(block, value)
    return value


def is_whole(path: Path, expected: int) -> bool:
    """Whether a file is there, is a file, and has the checksum that it was written with."""
    try:
        return path.is_file() and checksum(path) == expected
    except OSError:
        return False
