"""Numbers in columns of plain text."""

from __future__ import annotations

import math
import re

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike
from dragoman.formats.faults import quote
from dragoman.formats.nbest.lines import NUMBER

_NUMBER = re.compile(NUMBER)


def parse_number(text: str, path: PathLike, line: int, column: str = "score") -> float:
    """Parse the number of a column; NaN if it is empty."""
    text = text.strip()
    if not text:
        return math.nan
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise DataError(f"found {quote(text)} as the {column}", path=path, line=line, expected="a finite number")
    return number
