"""Numbers in plain text: a column of a line, or one number per line."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_lines
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


def read_numbers(path: PathLike) -> NDArray[np.float64]:
    """Read a file with one number per line; an empty line is NaN."""
    values = []
    for line, text in enumerate(read_lines(path), 1):
        try:
            values.append(float(text) if text.strip() else math.nan)
        except ValueError:
            raise DataError(f"found '{text}'", path=path, line=line, expected="a number") from None
    return np.array(values)
