"""What a parsing kernel found wrong, as a sentence with file and line."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike

#: For each kind of fault what was found, with `{}` for the text in question, and what was expected.
Faults = Mapping[int, tuple[str, str]]

_SHOWN_CHARACTERS = 60


def check_fault(fault: tuple[int, int, int, int], data: bytes, faults: Faults, path: PathLike, first_line: int) -> None:
    """Raise if a kernel that parsed `data` stopped at a fault."""
    kind, line, begin, end = fault
    if kind:
        found, expected = faults[kind]
        raise DataError(found.format(shown(data[begin:end])), path=path, line=first_line + line, expected=expected)


def shown(text: bytes | str) -> str:
    """Quote a piece of a file for a message: shortened, and without what would upset a terminal."""
    text = text.decode(errors="replace") if isinstance(text, bytes) else text
    text = text.strip()
    text = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
    return "'" + "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text) + "'"
