"""Checksums and digests of files, and a record of files that have been verified already."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from dragoman.core.errors import DataError, version
from dragoman.core.progress import ProgressCallback
from dragoman.core.toml import format_toml, read_toml

#: The file with the checksums of arrays.
CHECKSUMS = "checksums.toml"


def checksum(path: Path) -> int:
    """Return the checksum of a file."""
    value = 0
    with path.open("rb") as stream:
        while block := stream.read(1 << 22):
            value = zlib.crc32(block, value)
    return value


def is_whole(path: Path, expected: int) -> bool:
    """Return True if the file exists and has the expected checksum."""
    try:
        return path.is_file() and checksum(path) == expected
    except OSError:
        return False


def write_checksums(folder: Path, progress_callback: ProgressCallback = lambda done: None) -> None:
    """Write the checksums of all arrays in a folder."""
    found, done, files = {}, 0, _array_files(folder)
    total = sum(file.stat().st_size for file in files)
    for file in files:
        found[file.relative_to(folder).as_posix()] = checksum(file)
        done += file.stat().st_size
        progress_callback(done / total)
    (folder / CHECKSUMS).write_text(format_toml(found), encoding="utf-8")


def compare_checksums(folder: Path, *, complete: bool) -> int:
    """Refuse damaged arrays and, if the folder must be `complete`, missing ones; return the number of arrays listed."""
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
    """Return the files of a model; when one of them changes, all are verified again."""
    return [folder / "model.toml", *folder.glob(CHECKSUMS), *_array_files(folder)]


def _array_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.npy"))


def digest(files: Iterable[Path]) -> str:
    """Return a digest of the contents of files, in this order: sixteen hexadecimal digits.

    >>> digest([])
    'e3b0c44298fc1c14'
    """
    found = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            part = hashlib.file_digest(stream, "sha256")
        found.update(part.digest())
    return found.hexdigest()[:16]


def digest_file(file: Path) -> str:
    """Return the digest of one file."""
    return digest([file])


#: Number of fingerprints that are remembered, the latest ones.
_MAX_MARKS = 500

#: A file written more recently than this may be written again without a new modification time.
_SETTLED_NS = 2_000_000_000


def fingerprint(files: Sequence[Path]) -> str | None:
    """Return a fingerprint of files without reading them; None if one of them has only just been written."""
    found = hashlib.sha256(version().encode())
    now = time.time_ns()
    for file in files:
        about = file.stat()
        if not 0 <= about.st_mtime_ns < now - _SETTLED_NS:
            return None
        found.update(f"{file.name} {about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns}\n".encode())
    return found.hexdigest()


def is_verified(mark: str) -> bool:
    """Return True if files with this fingerprint have been verified on this machine."""
    return mark in _marks()


def remember_verified(mark: str) -> None:
    """Remember that files with this fingerprint have been verified; does nothing if the cache cannot be written."""
    place = _place()
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        marks = [*(other for other in _marks() if other != mark), mark][-_MAX_MARKS:]
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
    """Return the folder for data that can be made again."""
    # The XDG specification says that relative paths are to be ignored.
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    home = os.path.expanduser("~/.cache")  # noqa: PTH111 - Path.home() fails where there is no home
    return (given if given.is_absolute() else Path(home)) / "dragoman"


def _marks() -> list[str]:
    try:
        return _place().read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return []
