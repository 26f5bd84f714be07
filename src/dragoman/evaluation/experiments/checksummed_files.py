"""Files of an experiment with checksums: a damaged file is refused, a missing one is made."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.core.files import open_output
from dragoman.core.journal import FILES, seal, unseal
from dragoman.core.store import is_whole

#: The file with the checksums of the others.
RECORD = "files.json"


class FileRecord:
    """The files below a folder that are written once, and `files.json` with their checksums.

    The checksum is written first: a file without one comes from an older version, or its record is lost.
    """

    def __init__(self, folder: Path):
        self._folder, self._record = folder, folder / RECORD

    @property
    def is_older(self) -> bool:
        """True if there is no record, as in folders of older versions."""
        return not self._record.exists()

    def has(self, path: Path) -> bool:
        """Return whether a file exists and need not be written; refuse one that has changed."""
        if not path.exists():
            return False
        known = self._known()
        if known is None:
            return True
        value = known.get(self._name(path))
        if value is not None and not is_whole(path, value):
            raise DataError(
                f"is damaged ({_cell(self._folder)})",
                path=path,
                expected=f"checksum {value}; remove the file, and `dragoman experiment` makes it again",
            )
        return value is not None

    def verified(self, path: Path) -> Path:
        """Return the path of a file; refuse one that is missing or damaged."""
        if not self.has(path):
            found = f"is missing ({_cell(self._folder)})"
            raise DataError(found, path=path, expected="what `dragoman experiment` writes; run it again")
        return path

    def write(self, path: Path, data: bytes) -> None:
        """Write a file, after its checksum."""
        self.note({path: zlib.crc32(data)}.items())
        with open_output(path) as stream:
            stream.write(data)

    def note(self, checksums: Iterable[tuple[Path, int]]) -> None:
        """Record checksums of files."""
        before = self._known() or {}
        known = before | {self._name(path): value for path, value in checksums}
        if known != before:
            with open_output(self._record) as stream:
                stream.write(seal({FILES: dict(sorted(known.items()))}) + b"\n")

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()

    def _known(self) -> dict[str, int] | None:
        """Return all checksums, or None if there is no record."""
        if self.is_older:
            return None
        found = unseal(self._record.read_bytes().removesuffix(b"\n"))
        if found is None or not found[1]:
            raise DataError(
                f"is damaged ({_cell(self._folder)})",
                path=self._record,
                expected="checksums of the files beside it; remove it, tests and decisions, and `dragoman experiment`"
                " makes them again",
            )
        return dict(found[0][FILES])


def _cell(folder: Path) -> str:
    """Return which part of an experiment a folder is."""
    return f"{folder.parent.name}, seed {folder.name}" if folder.name.isdecimal() else folder.name


def folder_name(name: str) -> str:
    """Return a name that is valid for a folder.

    >>> folder_name("LUS (1/100)")
    'LUS-1-100'
    """
    return re.sub(r"[^\w.]+", "-", name).strip("-.") or "unnamed"
