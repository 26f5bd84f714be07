"""Numbers that some hypotheses lack: refused, left out with their hypotheses, or filled in and marked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime

#: What is done about a missing number: refuse it, drop the hypothesis, or put this one in its place.
Missing = Literal["refuse", "drop"] | float

#: The end of the name of a feature that is 1 where another is missing.
MARK = ".missing"


def missing_from(text: str | float) -> Missing:
    """What somebody wants to be done, as a word or a number.

    >>> missing_from("drop"), missing_from("-20")
    ('drop', -20.0)
    """
    if text in ("refuse", "drop"):
        return cast(Missing, text)
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise UsageError(f"missing is '{text}'; expected refuse, drop, or a number")
    return value


@dataclass(frozen=True)
class Filled:
    """Columns without gaps, and the hypotheses that they are of."""

    columns: dict[str, NDArray[np.float64]]
    kept: NDArray[np.int64]


def filled(
    nbest: NBest,
    columns: Mapping[str, NDArray[np.float64]],
    missing: Missing = "refuse",
    marks: Collection[str] = (),
    *,
    runtime: Runtime = Runtime(),
) -> Filled:
    """Do away with gaps (NaN) in columns that have a number for each hypothesis.

    With a number in their place, a column `NAME.missing` is 1 where there was a gap; it is there for those of `marks`,
    too, though they have none.
    """
    found: dict[str, NDArray[np.float64]] = {}
    kept = np.ones(len(nbest.scores), np.bool_)
    for name, values in columns.items():
        gaps = np.isnan(values)
        found[name] = values
        if gaps.any():
            counts = f"{int(gaps.sum()):,} of {len(gaps):,} hypotheses have no '{name}'"
            place = f"the first of them is {nbest.place_of(int(gaps.argmax()))}"
            if missing == "refuse":
                ways = "--missing drop (leaves them out) or --missing VALUE (fills it in); in Python, missing="
                raise DataError(f"{counts}, {place}", expected=f"a number for each, {ways}")
            if missing == "drop":
                kept &= ~gaps
                runtime.warn(f"{counts}, {place}; they are left out")
            else:
                found[name] = np.where(gaps, missing, values)
                runtime.warn(f"{counts}, {place}; they get {missing:g}, and 1 as '{name}{MARK}'")
        if name + MARK in marks or (gaps.any() and not isinstance(missing, str)):
            found[name + MARK] = gaps.astype(np.float64)
    rows = np.flatnonzero(kept)
    lost = int((np.diff(np.searchsorted(rows, nbest.sentences)) == 0).sum() - (np.diff(nbest.sentences) == 0).sum())
    if lost:
        runtime.warn(f"{lost:,} of {len(nbest):,} sentences have no hypotheses any more")
    return Filled({name: values[rows] for name, values in found.items()}, rows)
