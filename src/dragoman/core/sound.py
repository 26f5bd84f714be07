"""What kernels trust in arrays that come from files: bounds, order and numbers, each checked in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.ragged import Ragged
from dragoman.core.store import Arrays

T = TypeVar("T", bound=np.generic)

#: Scores and weights beyond this are no numbers that a model has; sums and products of those below it stay finite.
#: It is about 1e30, and the same number in any precision.
LARGEST = 2.0**100

#: How many rows are looked at together, so that an array larger than the memory can be checked.
_BLOCK = 1 << 20


def blocks(rows: int) -> Iterator[slice]:
    """Cut a number of rows into ranges that fit into memory.

    >>> list(blocks(3))
    [slice(0, 3, None)]
    """
    return (slice(first, min(first + _BLOCK, rows)) for first in range(0, rows, _BLOCK))


def check_range(name: str, values: NDArray[np.integer], lowest: int, below: int) -> None:
    """Refuse integers outside of a range.

    >>> check_range("ids", np.arange(3), 0, 2)
    Traceback (most recent call last):
    dragoman.core.errors.DataError: the array 'ids' holds 2; expected numbers from 0 to 1
    """
    if values.size:
        for found in (int(values.min()), int(values.max())):
            if not lowest <= found < below:
                expected = f"numbers from {lowest} to {below - 1}" if lowest < below else "an empty array"
                raise DataError(f"the array '{name}' holds {found}", expected=expected)


def check_numbers(name: str, values: NDArray[np.floating]) -> None:
    """Refuse numbers that are not finite, or so large that sums of them may not be."""
    for rows in blocks(len(values)):
        part = values[rows]
        with np.errstate(invalid="ignore"):
            fits = not part.size or bool(part.min() >= -LARGEST and part.max() <= LARGEST)
        if not fits:
            wrong = part[~(np.abs(part) <= LARGEST)]
            raise DataError(f"the array '{name}' holds {wrong.flat[0]}", expected="finite numbers of a usual size")


def check_offsets(name: str, offsets: NDArray[np.int64], end: int, *, longest: int | None = None) -> None:
    """Refuse offsets that do not go from 0 to `end` step by step, each of at most `longest`.

    >>> check_offsets("offsets", np.array([0, 2, 1, 3]), 3)
    Traceback (most recent call last):
    dragoman.core.errors.DataError: the array 'offsets' falls from 2 to 1; expected offsets that never fall
    """
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end:
        raise DataError(f"the array '{name}' has other ends", expected=f"offsets from 0 to {end}")
    for rows in blocks(len(offsets) - 1):
        before, after = offsets[rows], offsets[rows.start + 1 : rows.stop + 1]
        wrong = np.flatnonzero(after < before)
        if len(wrong):
            first = int(wrong[0])
            raise DataError(
                f"the array '{name}' falls from {before[first]} to {after[first]}", expected="offsets that never fall"
            )
        if longest is not None and (length := int((after - before).max(initial=0))) > longest:
            raise DataError(f"the array '{name}' has a row of {length}", expected=f"at most {longest}")


def typed_array(
    arrays: Mapping[str, NDArray[np.generic]], name: str, dtype: type[T], shape: tuple[int | None, ...], part: str
) -> NDArray[T]:
    """Return an array of a part of a model if it is what it should be; a None in `shape` is any length."""
    array = arrays.get(name)
    if array is None:
        raise DataError(f"the array '{name}' is missing", expected=part)
    suits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if array.dtype != dtype or not suits:
        raise DataError(f"the array '{name}' is of the wrong type or shape", expected=part)
    return cast(NDArray[T], array)


def ragged_array(arrays: Arrays, values: str, offsets: str, dtype: type[T], part: str) -> Ragged[T]:
    """Return rows of unequal length from two arrays, if they fit together at their ends."""
    rows = Ragged(
        typed_array(arrays, values, dtype, (None,), part), typed_array(arrays, offsets, np.int64, (None,), part)
    )
    if not len(rows.offsets) or rows.offsets[0] != 0 or rows.offsets[-1] != len(rows.values):
        raise DataError(f"the array '{offsets}' does not fit '{values}'", expected=part)
    return rows
