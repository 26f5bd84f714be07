"""The lines of a `moses.ini`, and the numbers in them."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike
from dragoman.formats.faults import shown

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_SPACE = re.compile(r"[ \t\r\f\v]+")
_WHOLE = re.compile(r"-?\d{1,9}", re.ASCII)


class IniLine(NamedTuple):
    """A line without its comment, and its number in the file."""

    number: int
    text: str


#: The lines of each section, by its name, in the order of the file.
Sections = dict[str, list[IniLine]]


def words(text: str) -> list[str]:
    """Cut a line at ASCII white space, and at nothing else."""
    return [word for word in _SPACE.split(text) if word]


def number(path: PathLike, line: IniLine, text: str) -> float:
    """Read a weight."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise DataError(f"found {shown(text)}", path=path, line=line.number, expected="a finite number")
    return value


def whole_number(path: PathLike, line: IniLine, text: str) -> int:
    """Read a count or a limit."""
    if not _WHOLE.fullmatch(text):
        raise DataError(f"found {shown(text)}", path=path, line=line.number, expected="a whole number")
    return int(text)
