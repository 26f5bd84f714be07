"""Arrays that may not fit into memory: rows in partitions, merged lists of keys, and hash tables filled in parts.

Rows are added block by block. A bucket holds the rows that belong together; a partition is a range of buckets that fits
into memory. If all rows fit, they are one partition, and nothing is written to disk.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.store import ArrayReader, Arrays, ArrayWriter, load_array, save_arrays
from dragoman.core.workspace import Workspace

#: Number of buckets: enough that a bucket larger than the memory is rare.
BUCKETS = 1024

#: Arrays smaller than the memory divided by this stay in memory.
SMALL_PART = 32

#: Kernels number rows with 31 bits.
_MOST_ROWS = (1 << 31) - 1

BucketFunction = Callable[[Arrays], NDArray[np.integer]]


class SpillBuffer:
    """Columns of rows, partitioned by `bucket_of`; the rows of a bucket keep the order in which they were added.

    If `order` names a column that increases from row to row, the rows of each partition are sorted by it. Rows are
    written to disk when those in memory would take more than the workspace has, at `bytes_per_row` (the memory that the
    work on a row takes).

    >>> with Workspace(memory=80) as workspace:
    ...     buffer = SpillBuffer(workspace, "numbers", lambda rows: rows["n"] % 3, bytes_per_row=4, buckets=3)
    ...     for n in range(3):
    ...         buffer.add({"n": np.arange(4) + 4 * n})
    ...     [part["n"].tolist() for part in buffer.partitions()]
    [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    """

    def __init__(
        self,
        workspace: Workspace,
        name: str,
        bucket_of: BucketFunction,
        *,
        bytes_per_row: int,
        buckets: int = BUCKETS,
        order: str | None = None,
    ):
        self._workspace, self._name, self._bucket_of, self._buckets = workspace, name, bucket_of, buckets
        self._cost, self._order = bytes_per_row, order
        self._held: list[Arrays] = []
        self._held_rows = 0
        self._bounds: list[NDArray[np.int64]] = []  # of the buckets of each sorted run, among all rows on disk
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
    def is_on_disk(self) -> bool:
        """True if some rows have been written to disk."""
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
        """Yield all rows in partitions that fit into memory. Call it once, after the last row has been added.

        With several `parts`, yield at least that many partitions, small enough that as many fit into memory together.
        """
        if parts == 1 and not self.is_on_disk and self._fits(self.rows):
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
        """Remove the files."""
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


class SpilledArrays:
    """Arrays written to disk until they are needed again."""

    def __init__(self, workspace: Workspace, name: str, arrays: Arrays):
        self._folder = workspace.folder / name
        with workspace.writing():
            save_arrays(self._folder, arrays)
        self._readers = {name: ArrayReader(self._folder / f"{name}.npy") for name in arrays}

    def names(self) -> list[str]:
        """Return the names of the arrays, sorted."""
        return sorted(self._readers)

    def load(self) -> Arrays:
        """Read all arrays into memory."""
        return {name: self.load_one(name) for name in self.names()}

    def load_one(self, name: str) -> NDArray[Any]:
        """Read one array into memory."""
        return self._readers[name].rows()

    def rows(self, name: str, first: int, last: int) -> NDArray[Any]:
        """Read some rows of one array."""
        return self._readers[name].rows(first, last)

    def ragged(self, values: str, offsets: str, first: int, last: int) -> Ragged[Any]:
        """Read some rows of different lengths, which are stored as two arrays."""
        bounds: NDArray[Any] = self.rows(offsets, first, last + 1)
        return Ragged(self.rows(values, int(bounds[0]), int(bounds[-1])), bounds - bounds[0])

    def map(self, name: str) -> NDArray[Any]:
        """Memory-map one array."""
        return load_array(self._folder / f"{name}.npy")

    def discard(self) -> None:
        """Remove the files."""
        shutil.rmtree(self._folder, ignore_errors=True)


def spill_arrays(workspace: Workspace, name: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays, memory-mapped from disk if they are large for the memory of the workspace."""
    if workspace.memory is None or sum(array.nbytes for array in arrays.values()) <= workspace.memory // SMALL_PART:
        return dict(arrays)
    spilled = SpilledArrays(workspace, name, dict(arrays))
    return {name: spilled.map(name) for name in arrays}


class ArrayBuilder:
    """An array of at most `max_rows` rows, built piece by piece; memory-mapped if it is large for the memory.

    >>> builder = ArrayBuilder(Workspace(), "numbers", np.int32, 9)
    >>> builder.write(np.array([1, 2]))
    >>> builder.finish().tolist()
    [1, 2]
    """

    def __init__(self, workspace: Workspace, name: str, dtype: type[np.generic], max_rows: int, *columns: int):
        self._workspace, self._path = workspace, None
        self._pieces = [np.empty((0, *columns), dtype)]
        size = max_rows * math.prod(columns) * self._pieces[0].itemsize
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
        """Return the whole array."""
        if self._path is None:
            pieces, self._pieces = self._pieces, []
            return pieces[1] if len(pieces) == 2 else np.concatenate(pieces)
        with self._workspace.writing():
            self._writer.finish()
        return load_array(self._path)


class OffsetsWriter:
    """Writes the offsets of rows from their lengths; the first row begins at `begin`."""

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
        """Write the number of rows into the header."""
        self._writer.finish()


class RaggedWriter:
    """Writes rows of different lengths as two arrays."""

    def __init__(self, folder: Path, values: str, offsets: str, dtype: type[np.generic]):
        self._values = ArrayWriter(folder / f"{values}.npy", dtype)
        self._offsets = OffsetsWriter(folder / f"{offsets}.npy")

    @property
    def rows(self) -> int:
        """Number of rows written so far."""
        return self._offsets.rows

    def write(self, rows: Ragged[Any]) -> None:
        """Add rows at the end."""
        self._values.write(rows.values)
        self._offsets.write(rows.lengths)

    def finish(self) -> None:
        """Write the number of rows into the header."""
        self._values.finish()
        self._offsets.finish()


def merge_steps(keys: list[NDArray[np.integer]], max_rows: int) -> Iterator[list[tuple[int, int]]]:
    """Cut sorted lists of keys into the steps of a merge: for each list the rows between two keys.

    Keys are distinct within a list and spread evenly over the lists, so that a step has about `max_rows` rows.

    >>> list(merge_steps([np.array([1, 4, 6]), np.array([2, 3, 9])], 2))
    [[(0, 1), (0, 2)], [(1, 2), (2, 2)], [(2, 3), (2, 3)]]
    """
    longest = max(keys, key=len)
    step = max(max_rows * len(longest) // max(sum(map(len, keys)), 1), 1)
    cuts = longest[step::step]
    bounds = [[0, *np.searchsorted(key, cuts).tolist(), len(key)] for key in keys]
    for i in range(len(cuts) + 1):
        yield [(bound[i], bound[i + 1]) for bound in bounds]


@dataclass(frozen=True, eq=False)
class MergeStep:
    """A range of merged keys: `keys` are distinct and sorted, `places` are the list, first and last row of each source.

    `rows` holds, for each of these rows, the position of its key in `keys`.
    """

    places: list[tuple[int, int, int]]
    keys: NDArray[np.int64]
    rows: NDArray[np.int64]

    def first(self) -> NDArray[np.int64]:
        """Return the first row of each key."""
        first = np.empty(len(self.keys), np.int64)
        first[self.rows[::-1]] = np.arange(len(self.rows) - 1, -1, -1)  # the last assignment to a place wins
        return first


class KeyLists:
    """Sorted lists of keys on disk.

    >>> with Workspace(1) as workspace:
    ...     lists = KeyLists(workspace, "numbers", [np.array([2, 5]), np.array([2, 3, 9])])
    ...     [step.keys.tolist() for step in lists.merge(2, first=10)], [lists.numbers(i).tolist() for i in range(2)]
    ([[2], [3, 5], [9]], [[10, 12], [10, 11, 13]])
    """

    def __init__(self, workspace: Workspace, name: str, lists: Any):
        self._folder, self._workspace, self._size = workspace.folder / name, workspace, 0
        with workspace.writing():
            for keys in lists:
                save_arrays(self._folder, {f"keys-{self._size}": keys})
                self._size += 1

    def merge(self, max_rows: int, first: int = 0) -> Iterator[MergeStep]:
        """Yield all keys in steps of about `max_rows` rows; distinct keys are numbered from `first` on."""
        names = [self._folder / f"keys-{i}.npy" for i in range(self._size)]
        readers = [ArrayReader(name) for name in names]
        with self._workspace.writing():
            writers = [ArrayWriter(self._folder / f"numbers-{i}.npy", np.int64) for i in range(self._size)]
        for ranges in merge_steps([np.asarray(load_array(name), np.int64) for name in names], max_rows):
            places = [(i, first_row, last) for i, (first_row, last) in enumerate(ranges) if last > first_row]
            if not places:
                continue
            keys = [readers[i].rows(first_row, last) for i, first_row, last in places]
            distinct, rows = np.unique(np.concatenate(keys), return_inverse=True)
            with self._workspace.writing():
                for (i, _, _), some in zip(places, np.split(rows, np.cumsum([len(k) for k in keys])[:-1]), strict=True):
                    writers[i].write(some + first)
            yield MergeStep(places, distinct, rows)
            first += len(distinct)
        with self._workspace.writing():
            for writer in writers:
                writer.finish()

    def numbers(self, i: int) -> NDArray[np.int64]:
        """Memory-map the numbers of the keys of list `i`; call it after `merge`."""
        return np.asarray(load_array(self._folder / f"numbers-{i}.npy"), np.int64)

    def discard(self) -> None:
        """Remove the lists; mapped numbers stay readable."""
        shutil.rmtree(self._folder, ignore_errors=True)


#: Bytes that partitioning a row takes besides its columns, and bytes of a slot.
_ROW, _SLOT = 32, 8


class SlotTable:
    """A hash table with open addressing and linear probing, filled in parts where it is too large for memory.

    It has `slots` slots, a power of two or a multiple of `BUCKETS`, and fewer rows than slots. A row takes its home
    slot or, if an earlier row has it, the next free one; after the last slot comes the first. A part can therefore be
    filled once the rows that overflow from the parts before it are known. Column `number` increases from row to row.

    >>> table = SlotTable(Workspace(), "table", 4, number="n", rows=2, bytes_per_row=8)
    >>> table.add(np.array([3, 3]), {"n": np.array([10, 11])})
    >>> table.fill(["n"], np.int64, free=0).tolist()
    [11, 0, 0, 10]
    """

    def __init__(self, workspace: Workspace, name: str, slots: int, *, number: str, rows: int, bytes_per_row: int):
        self._workspace, self._name, self._slots, self._number = workspace, name, slots, number
        cost = bytes_per_row + _ROW
        # Columns are read, sorted and gathered from: three copies.
        parts = 1 << ((3 * cost * rows + _SLOT * slots) // workspace.room()).bit_length()
        self._parts = min(parts, BUCKETS, slots) if rows else 1
        self._buffer = SpillBuffer(workspace, name, self._part_of, bytes_per_row=2 * cost, buckets=self._parts)

    def _part_of(self, rows: dict[str, Any]) -> NDArray[np.int64]:
        return np.asarray(rows["home"] // (self._slots // self._parts), np.int64)

    def add(self, homes: NDArray[np.int64], columns: Arrays) -> None:
        """Add rows with the home slots `homes`."""
        self._buffer.add({"home": homes, **columns})

    def fill(
        self,
        columns: Sequence[str],
        dtype: type[np.generic],
        *,
        free: int,
        progress_callback: ProgressCallback = lambda done: None,
    ) -> NDArray[Any]:
        """Return the given columns of the row in each slot, or `free` where it is empty; a vector for one column."""
        if self._parts == 1:
            rows: dict[str, Any] = next(self._buffer.partitions()) or {"home": np.empty(0, np.int64)}
            slots = kernels.fill_slots(rows["home"], self._slots, 0, self._slots)[0]
            return _slot_values(slots, rows, columns, dtype, free)
        self._buffer.write()
        # Rows that overflow from the last part go to the first slots. Nearly always the last part alone tells which.
        left = self._part(self._parts - 1, None)[2]
        row = [len(columns)] if len(columns) > 1 else []
        while True:
            at_first = left[self._number]
            table = ArrayBuilder(self._workspace, f"{self._name}-filled", dtype, self._slots, *row)
            for part in range(self._parts):
                slots, rows, left = self._part(part, left)
                table.write(_slot_values(slots, rows, columns, dtype, free))
                progress_callback((part + 1) / self._parts)
            if np.array_equal(left[self._number], at_first):
                self._buffer.close()
                return table.finish()

    def _part(self, part: int, left: Arrays | None) -> tuple[NDArray[np.int32], Arrays, Arrays]:
        """Fill a part of the slots, given the rows `left` over before it; return slots, rows and the rows left over."""
        rows: dict[str, Any] = self._buffer.read(part, part + 1)
        if left is not None and len(left[self._number]):
            rows = {name: np.concatenate([left[name], values]) for name, values in rows.items()}
            order = np.argsort(rows[self._number], kind="stable")
            rows = {name: values[order] for name, values in rows.items()}
        size = self._slots // self._parts
        slots, over = kernels.fill_slots(rows["home"], self._slots, part * size, size)
        return slots, rows, {name: values[over] for name, values in rows.items()}


def _slot_values(
    slots: NDArray[np.int32], rows: Arrays, columns: Sequence[str], dtype: type[np.generic], free: int
) -> NDArray[Any]:
    values = np.full((len(slots), len(columns)), free, dtype)
    taken = np.flatnonzero(slots >= 0)
    for column, name in enumerate(columns) if len(taken) else ():
        values[taken, column] = rows[name][slots[taken]]
    return values if len(columns) > 1 else values[:, 0]
