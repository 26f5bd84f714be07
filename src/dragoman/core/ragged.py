"""Rows of different lengths, flat in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels

T = TypeVar("T", bound=np.generic)

_ROWS_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Ragged(Generic[T]):
    """Row `i` is `values[offsets[i]:offsets[i + 1]]`.

    >>> rows = Ragged.of([[1, 2], [], [3]], np.int32)
    >>> rows[0].tolist(), len(rows), rows.take(np.array([2, 0])).values.tolist()
    ([1, 2], 3, [3, 1, 2])
    """

    values: NDArray[T]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]], dtype: type[T]) -> Ragged[T]:
        """Build from Python sequences."""
        rows = [list(row) for row in rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return cls(np.array([value for row in rows for value in row], dtype), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[T]:
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[NDArray[T]]:
        bounds = self.offsets.tolist()
        return (self.values[a:b] for a, b in itertools.pairwise(bounds))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each row."""
        return np.diff(self.offsets)

    def for_kernels(self: Ragged[np.int32]) -> kernels.Rows:
        """Return the rows as kernels take them."""
        return kernels.Rows(values=self.values, offsets=self.offsets)

    def take(self, rows: NDArray[np.integer]) -> Ragged[T]:
        """Return the given rows, in that order."""
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        values = np.empty((offsets[-1], *self.values.shape[1:]), self.values.dtype)
        # In pieces, because the positions take more memory than the values.
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            last = min(first + _ROWS_AT_ONCE, len(rows))
            here = slice(int(offsets[first]), int(offsets[last]))
            shift = np.repeat(starts[first:last] - offsets[first:last], lengths[first:last])
            values[here] = self.values[np.arange(here.start, here.stop) + shift]
        return Ragged(values, offsets)

    def part(self, at: slice) -> Ragged[T]:
        """Return a range of rows; their values are not copied."""
        offsets = self.offsets[at.start : at.stop + 1]
        return Ragged(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])

    def blocks(self, size: int) -> Iterator[slice]:
        """Cut the rows into ranges of about `size` values.

        >>> [(at.start, at.stop) for at in Ragged.of([[1, 2], [], [3], [4, 5, 6]], np.int32).blocks(3)]
        [(0, 3), (3, 4)]
        """
        return blocks_of(self.offsets, size)

    @classmethod
    def concatenate(cls, parts: Sequence[Ragged[T]]) -> Ragged[T]:
        """Concatenate the rows of several arrays."""
        lengths = np.concatenate([part.lengths for part in parts])
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(np.concatenate([part.values for part in parts]), offsets)


def blocks_of(offsets: NDArray[np.int64], size: int) -> Iterator[slice]:
    """Cut rows with these offsets into ranges of about `size` values, and of at least one row."""
    first = 0
    while first < len(offsets) - 1:
        last = max(int(np.searchsorted(offsets, offsets[first] + size, side="right")) - 1, first + 1)
        yield slice(first, last)
        first = last


#: Sorting an id takes as long as checking this many flags.
_FLAGS_FOR_ONE_SORTED = 64


def unique_ids(ids: NDArray[np.integer], total: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct ids, ascending, and the position of each id among them; ids are below `total`.

    The same as `np.unique` with the inverse, but without sorting if there are many ids.

    >>> [part.tolist() for part in unique_ids(np.array([7, 3, 7]), 10)]
    [[3, 7], [1, 0, 1]]
    """
    if len(ids) * _FLAGS_FOR_ONE_SORTED < total:
        used, places = np.unique(ids, return_inverse=True)
        return used.astype(np.int64), places.astype(np.int32)
    seen = np.zeros(total, bool)
    seen[ids] = True
    used = np.flatnonzero(seen)
    place = np.empty(total, np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return used, place[ids]
