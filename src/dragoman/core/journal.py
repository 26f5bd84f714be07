"""Journals: files of JSON objects, one a line, in which each line has a checksum of all that stands before it.

Their entries say which files were written, with the checksums of these: `files` has them by their paths.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError
from dragoman.core.files import open_output

#: The key under which an entry has the checksums of files.
FILES = "files"

_CHECKSUM = "checksum"
_SEALED = re.compile(rb'(.+), "checksum": (0|[1-9][0-9]{0,9})\}', re.DOTALL)


def sealed(entry: Mapping[str, Any], before: int = 0) -> bytes:
    """Write an entry as JSON that ends with a checksum of it and of what stands before it, whose checksum is given.

    >>> sealed({"score": 1.5})
    b'{"score": 1.5, "checksum": 916986133}'
    """
    text = json.dumps(entry).encode()[:-1]
    return text + f', "{_CHECKSUM}": {zlib.crc32(text, before)}}}'.encode()


def opened(data: bytes, before: int = 0) -> tuple[dict[str, Any], bool] | None:
    """Return the entry that was written, and whether it has a checksum (older ones have none); None if it is damaged.

    >>> opened(b'{"score": 1.5, "checksum": 916986133}'), opened(b'{"score": 2.5, "checksum": 916986133}')
    (({'score': 1.5}, True), None)
    """
    match = _SEALED.fullmatch(data)
    if match is not None and zlib.crc32(match[1], before) != int(match[2]):
        return None
    try:
        found = json.loads(data if match is None else match[1] + b"}")
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or (match is None and found.keys() & {FILES, _CHECKSUM}):
        return None
    return found, match is not None


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a journal: what it says, whether it has a checksum, and where in the file it ends."""

    entry: dict[str, Any]
    checked: bool
    end: int

    @property
    def files(self) -> dict[str, int]:
        """The checksums of files that the entry tells of; none if it is of the older form."""
        return dict(self.entry.get(FILES, {})) if self.checked else {}


@dataclass(frozen=True, eq=False)
class Told:
    """All lines of a journal that are whole, and the first one that is damaged, as it stands there."""

    data: bytes
    lines: tuple[Line, ...]
    damaged: bytes | None = None


class Journal:
    """A journal on disk. A last line that is cut off does not count."""

    def __init__(self, path: Path):
        self.path = path
        self._told = Told(b"", ())

    def read(self) -> Told:
        """Read what there is; it is looked through again only if it has changed."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror})", path=self.path) from None
        if data != self._told.data:
            self._told = parse_journal(data)
        return self._told

    def append(self, entry: Mapping[str, Any]) -> None:
        """Add an entry behind lines that are whole; the file is replaced, so that it is never half a line longer."""
        told = self.read()
        self._write(_whole(told, len(told.lines)), entry)

    def cut(self, lines: int) -> None:
        """Keep so many lines only."""
        self._write(_whole(self.read(), lines))

    def _write(self, before: bytes, *entries: Mapping[str, Any]) -> None:
        with open_output(self.path) as stream:
            stream.write(before)
            for entry in entries:
                stream.write(sealed(entry, zlib.crc32(before)) + b"\n")


def _whole(told: Told, lines: int) -> bytes:
    return told.data[: told.lines[lines - 1].end] if lines else b""


def parse_journal(data: bytes) -> Told:
    """Read the bytes of a journal."""
    lines: list[Line] = []
    end = before = 0
    for text in data.split(b"\n")[:-1]:
        found = opened(text, before)
        if found is None or (lines and lines[-1].checked and not found[1]):
            return Told(data, tuple(lines), text)
        end += len(text) + 1
        before = zlib.crc32(b"\n", zlib.crc32(text, before))
        lines.append(Line(*found, end))
    return Told(data, tuple(lines))
