"""Checksums of files: CRC-32, in models, runs, experiments and checkpoints alike."""

from __future__ import annotations

import zlib
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.core.progress import ShareDone
from dragoman.core.toml import format_toml, read_toml

#: The file that the checksums of arrays are in.
CHECKSUMS = "checksums.toml"


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


def write_checksums(folder: Path, share: ShareDone = lambda share: None) -> None:
    """Write the checksums of all arrays in a folder."""
    found, done, files = {}, 0, _array_files(folder)
    total = sum(file.stat().st_size for file in files)
    for file in files:
        found[file.relative_to(folder).as_posix()] = checksum(file)
        done += file.stat().st_size
        share(done / total)
    (folder / CHECKSUMS).write_text(format_toml(found), encoding="utf-8")


def compare_checksums(folder: Path, *, complete: bool) -> int:
    """Refuse arrays that are not as they were written and, if they are to be `complete`, missing ones.

    Returns how many there are in the list.
    """
    expected = read_toml(folder / CHECKSUMS)
    for name, value in expected.items():
        file = folder / name
        if file.is_file():
            if checksum(file) != value:
                raise DataError("is damaged", path=file, expected=f"checksum {value}")
        elif complete:
            raise DataError("is missing", path=file, expected="an array of the model")
    return len(expected)


def checked_files(folder: Path) -> list[Path]:
    """The files of a model that have to be checked again when one of them changes."""
    return [folder / "model.toml", *folder.glob(CHECKSUMS), *_array_files(folder)]


def _array_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.npy"))
