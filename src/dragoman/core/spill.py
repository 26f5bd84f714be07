"""Rows and keys that may not fit into memory: added block by block, read again in partitions or merged.

A bucket of rows is what belongs together, a partition some buckets in a row that fit into the memory that there is. As
long as all rows do, they stay there: one partition, and nothing is written.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.ragged import Ragged
from dragoman.core.store import ArrayReader, Arrays, ArrayWriter, load_array, save_arrays
from dragoman.core.workspace import Workspace

#: Partitions are made of so many parts, so that one that is too large is rare.
BUCKETS = 1024

#: What takes less than this part of the memory need not be on disk.
SMALL_PART = 32

#: Kernels number rows with 31 bits.
_MOST_ROWS = (1 << 31) - 1

BucketsOf = Callable[[Arrays], NDArray[np.integer]]


class Runs:
    """Columns of rows, which `bucket_of` deals out to `buckets`; within a bucket they stay in the order they came in.

    A column that rises from row to row may give their `order`, in which all rows of a partition are put again. A row is
    written to disk when those in memory would take more than the workspace has, at `bytes_per_row`, which is
    what the work on a row takes.

    >>> with Workspace(memory=80) as workspace:
    ...     runs = Runs(workspace, "numbers", lambda rows: rows["n"] % 3, bytes_per_row=4, buckets=3)
    ...     for n in range(3):
    ...         runs.add({"n": np.arange(4) + 4 * n})
    ...     [part["n"].tolist() for part in runs.partitions()]
    [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    """

    def __init__(
        self,
        workspace: Workspace,
        name: str,
        bucket_of: BucketsOf,
        *,
        bytes_per_row: int,
        buckets: int = BUCKETS,
        order: str | None = None,
    ):
        self._workspace, self._name, self._bucket_of, self._buckets = workspace, name, bucket_of, buckets
        self._cost, self._order = bytes_per_row, order
        self._held: list[Arrays] = []
        self._held_rows = 0
        self._bounds: list[NDArray[np.int64]] = []  # of the buckets of each run, among all rows that were written
        self._writers: dict[str, ArrayWriter] = {}
        self._readers: dict[str, ArrayReader] = {}
        self.rows = 0

    def add(self, columns: Arrays) -> None:
        """Add a block of rows; all blocks have the same columns."""
        rows = len(next(iter(columns.values())))
        if self._held and (self._held_rows + rows) * self._cost > self._workspace.room():
            self.write()
        if rows:
            self._held.append(columns)
            self._held_rows += rows
            self.rows += rows

    @property
    def written(self) -> bool:
        """Whether some rows are on disk."""
        return bool(self._bounds)

    def write(self) -> None:
        """Write the rows in memory to disk, sorted by bucket."""
        columns = self._take_held()
        if columns is None:
            return
        buckets = self._bucket_of(columns)
        order = np.argsort(buckets, kind="stable")
        begin = self._bounds[-1][-1] if self._bounds else np.int64(0)
        counts = np.bincount(buckets, minlength=self._buckets)
        self._bounds.append(begin + np.concatenate([[0], np.cumsum(counts)]))
        with self._workspace.writing():
            for name, values in columns.items():
                if name not in self._writers:
                    self._writers[name] = ArrayWriter(self._file(name), values.dtype.type, *values.shape[1:])
                self._writers[name].write(values[order])

    def partitions(self, parts: int = 1) -> Iterator[Arrays]:
        """Yield all rows, as many buckets together as fit; to be used once, after the last row has been added.

        If there are to be several `parts`, they are that many or more, all of which fit into memory together.
        """
        if parts == 1 and not self.written and self._fits(self.rows):
            yield self._take_held() or {}
            return
        most = -(-self.rows // parts) if parts > 1 else self.rows
        self.write()
        self._finish()
        counts = sum(np.diff(bounds) for bounds in self._bounds)
        first, together = 0, 0
        for bucket, rows in enumerate(np.asarray(counts).tolist()):
            if together and (together + rows > most or not self._fits(parts * (together + rows))):
                yield self.read(first, bucket)
                first, together = bucket, 0
            together += rows
        yield self.read(first, self._buckets)
        self.close()

    def read(self, first: int, last: int) -> Arrays:
        """Read the rows of some buckets."""
        self._finish()
        places = [(int(bounds[first]), int(bounds[last])) for bounds in self._bounds]
        rows: Arrays = {
            name: np.concatenate([reader.rows(*place) for place in places]) for name, reader in self._readers.items()
        }
        if self._order is None:
            return rows
        order = np.argsort(rows[self._order], kind="stable")
        return {name: values[order] for name, values in rows.items()}

    def close(self) -> None:
        """Remove what was written."""
        for name in self._writers:
            self._file(name).unlink(missing_ok=True)

    def _fits(self, rows: int) -> bool:
        return rows <= _MOST_ROWS and rows * self._cost <= self._workspace.room()

    def _take_held(self) -> Arrays | None:
        held, self._held, self._held_rows = self._held, [], 0
        if len(held) < 2:
            return held[0] if held else None
        return {name: np.concatenate([block[name] for block in held]) for name in held[0]}

    def _finish(self) -> None:
        if self._readers:
            return
        with self._workspace.writing():
            for writer in self._writers.values():
                writer.finish()
        self._readers = {name: ArrayReader(self._file(name)) for name in self._writers}

    def _file(self, name: str) -> Path:
        return self._workspace.folder / f"{self._name}.{name}.npy"


class Kept:
    """Arrays that are put aside on disk until they are needed again."""

    def __init__(self, workspace: Workspace, name: str, arrays: Arrays):
        self._folder = workspace.folder / name
        with workspace.writing():
            save_arrays(self._folder, arrays)
        self._readers = {name: ArrayReader(self._folder / f"{name}.npy") for name in arrays}

    def names(self) -> list[str]:
        """What the arrays are called."""
        return sorted(self._readers)

    def load(self) -> Arrays:
        """Bring all arrays back into memory."""
        return {name: self.load_one(name) for name in self.names()}

    def load_one(self, name: str) -> NDArray[Any]:
        """Bring one array back."""
        return self._readers[name].rows()

    def rows(self, name: str, first: int, last: int) -> NDArray[Any]:
        """Bring some rows of one array back."""
        return self._readers[name].rows(first, last)

    def ragged(self, values: str, offsets: str, first: int, last: int) -> Ragged[Any]:
        """Bring some rows of different lengths back, which are two arrays."""
        bounds: NDArray[Any] = self.rows(offsets, first, last + 1)
        return Ragged(self.rows(values, int(bounds[0]), int(bounds[-1])), bounds - bounds[0])

    def map(self, name: str) -> NDArray[Any]:
        """One array without bringing it into memory."""
        return load_array(self._folder / f"{name}.npy")

    def discard(self) -> None:
        """Remove them."""
        shutil.rmtree(self._folder, ignore_errors=True)


def mapped_arrays(workspace: Workspace, name: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Arrays that stay, mapped from disk where memory is limited: so they can be written out and read again at will."""
    if workspace.memory is None or sum(array.nbytes for array in arrays.values()) <= workspace.memory // SMALL_PART:
        return dict(arrays)
    kept = Kept(workspace, name, dict(arrays))
    return {name: kept.map(name) for name in arrays}


class Column:
    """An array that is made piece by piece, of at most so many rows: mapped where it is large for the memory.

    >>> column = Column(Workspace(), "numbers", np.int32, 9)
    >>> column.write(np.array([1, 2]))
    >>> column.finish().tolist()
    [1, 2]
    """

    def __init__(self, workspace: Workspace, name: str, dtype: type[np.generic], most: int, *columns: int):
        self._workspace, self._path = workspace, None
        self._pieces = [np.empty((0, *columns), dtype)]
        size = most * math.prod(columns) * self._pieces[0].itemsize
        if workspace.memory is None or size <= workspace.memory // SMALL_PART:
            return
        self._path = workspace.folder / f"{name}.npy"
        self._path.unlink(missing_ok=True)  # an older one of this name may still be mapped
        with workspace.writing():
            self._writer = ArrayWriter(self._path, dtype, *columns)

    def write(self, rows: NDArray[Any]) -> None:
        """Add rows at the end."""
        if self._path is None:
            self._pieces.append(rows.astype(self._pieces[0].dtype, copy=False))
            return
        with self._workspace.writing():
            self._writer.write(rows)

    def finish(self) -> NDArray[Any]:
        """The whole array."""
        if self._path is None:
            pieces, self._pieces = self._pieces, []
            return pieces[1] if len(pieces) == 2 else np.concatenate(pieces)
        with self._workspace.writing():
            self._writer.finish()
        return load_array(self._path)


class OffsetsWriter:
    """Writes where rows of given lengths begin, from `begin` on, and where the last one ends."""

    def __init__(self, path: Path, begin: int = 0):
        self._writer, self._end, self.rows = ArrayWriter(path, np.int64), begin, 0
        self._writer.write(np.array([begin], np.int64))

    def write(self, lengths: NDArray[Any]) -> None:
        """Add rows at the end."""
        ends = self._end + np.cumsum(lengths)
        self._writer.write(ends)
        self._end = int(ends[-1]) if len(ends) else self._end
        self.rows += len(lengths)

    def finish(self) -> None:
        """Write how many there are."""
        self._writer.finish()


class RaggedWriter:
    """Writes rows of different lengths as two arrays."""

    def __init__(self, folder: Path, values: str, offsets: str, dtype: type[np.generic]):
        self._values = ArrayWriter(folder / f"{values}.npy", dtype)
        self._offsets = OffsetsWriter(folder / f"{offsets}.npy")

    @property
    def rows(self) -> int:
        """How many have been written."""
        return self._offsets.rows

    def write(self, rows: Ragged[Any]) -> None:
        """Add rows at the end."""
        self._values.write(rows.values)
        self._offsets.write(rows.lengths)

    def finish(self) -> None:
        """Write how many there are."""
        self._values.finish()
        self._offsets.finish()


def merged(keys: list[NDArray[np.integer]], most_rows: int) -> Iterator[list[tuple[int, int]]]:
    """Cut lists of rising keys into steps of a merge: for each list the rows between two keys.

    Keys are different within a list and spread evenly over the lists, so that a step has about `most_rows` rows.

    >>> list(merged([np.array([1, 4, 6]), np.array([2, 3, 9])], 2))
    [[(0, 1), (0, 2)], [(1, 2), (2, 2)], [(2, 3), (2, 3)]]
    """
    longest = max(keys, key=len)
    step = max(most_rows * len(longest) // max(sum(map(len, keys)), 1), 1)
    cuts = longest[step::step]
    bounds = [[0, *np.searchsorted(key, cuts).tolist(), len(key)] for key in keys]
    for i in range(len(cuts) + 1):
        yield [(bound[i], bound[i + 1]) for bound in bounds]


@dataclass(frozen=True, eq=False)
class MergeStep:
    """Keys that follow another: `found` are the distinct ones, `places` the rows of lists that they come from.

    `rows` has for each of these rows the number of its key in `found`.
    """

    places: list[tuple[int, int, int]]
    found: NDArray[np.int64]
    rows: NDArray[np.int64]

    def first(self) -> NDArray[np.int64]:
        """For each key the first row that has it."""
        first = np.empty(len(self.found), np.int64)
        first[self.rows[::-1]] = np.arange(len(self.rows) - 1, -1, -1)  # of assignments to one place the last holds
        return first


class KeyLists:
    """Some lists of keys on disk, each of which rises.

    >>> with Workspace(1) as workspace:
    ...     lists = KeyLists(workspace, "numbers", [np.array([2, 5]), np.array([2, 3, 9])])
    ...     [step.found.tolist() for step in lists.merge(2, first=10)], [lists.numbers(i).tolist() for i in range(2)]
    ([[2], [3, 5], [9]], [[10, 12], [10, 11, 13]])
    """

    def __init__(self, workspace: Workspace, name: str, lists: Any):
        self._folder, self._workspace, self._size = workspace.folder / name, workspace, 0
        with workspace.writing():
            for keys in lists:
                save_arrays(self._folder, {f"keys-{self._size}": keys})
                self._size += 1

    def merge(self, most_rows: int, first: int = 0) -> Iterator[MergeStep]:
        """Yield all keys, about so many rows together; distinct keys are numbered from `first` on."""
        names = [self._folder / f"keys-{i}.npy" for i in range(self._size)]
        readers = [ArrayReader(name) for name in names]
        with self._workspace.writing():
            writers = [ArrayWriter(self._folder / f"numbers-{i}.npy", np.int64) for i in range(self._size)]
        for ranges in merged([np.asarray(load_array(name), np.int64) for name in names], most_rows):
            places = [(i, first_row, last) for i, (first_row, last) in enumerate(ranges) if last > first_row]
            if not places:
                continue
            keys = [readers[i].rows(first_row, last) for i, first_row, last in places]
            found, rows = np.unique(np.concatenate(keys), return_inverse=True)
            with self._workspace.writing():
                for (i, _, _), some in zip(places, np.split(rows, np.cumsum([len(k) for k in keys])[:-1]), strict=True):
                    writers[i].write(some + first)
            yield MergeStep(places, found, rows)
            first += len(found)
        with self._workspace.writing():
            for writer in writers:
                writer.finish()

    def numbers(self, i: int) -> NDArray[np.int64]:
        """The numbers of the keys of a list, after they have been merged: mapped."""
        return np.asarray(load_array(self._folder / f"numbers-{i}.npy"), np.int64)

    def discard(self) -> None:
        """Remove the lists; numbers that are mapped stay readable."""
        shutil.rmtree(self._folder, ignore_errors=True)
