"""Hash tables with open addressing that may be too large for memory: they are filled in parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.progress import ShareDone
from dragoman.core.spill import Column, Runs
from dragoman.core.store import Arrays
from dragoman.core.workspace import Workspace

#: Slots are filled in at most so many parts.
_MOST_PARTS = 1024

#: What dealing a row out takes besides its columns, and what a slot takes, in bytes.
_ROW, _SLOT = 32, 8


class SlotTable:
    """Rows that each belong into a slot, of `slots`, a power of two; fewer than these.

    A row gets its slot or, where that is taken by one before it, the first one behind that is free, and behind the last
    comes the first. So a part can be filled when it is known which rows found no place before it. `number`, one of the
    columns, rises from row to row.

    >>> table = SlotTable(Workspace(), "table", 4, number="n", rows=2, bytes_per_row=8)
    >>> table.add(np.array([3, 3]), {"n": np.array([10, 11])})
    >>> table.filled(["n"], np.int64, free=0).tolist()
    [11, 0, 0, 10]
    """

    def __init__(self, workspace: Workspace, name: str, slots: int, *, number: str, rows: int, bytes_per_row: int):
        self._workspace, self._name, self._slots, self._number = workspace, name, slots, number
        cost = bytes_per_row + _ROW
        # Columns are read, put in order and taken from.
        parts = 1 << ((3 * cost * rows + _SLOT * slots) // workspace.room()).bit_length()
        self._parts = min(parts, _MOST_PARTS, slots)
        self._runs = Runs(workspace, name, self._part_of, bytes_per_row=2 * cost, buckets=self._parts)

    def _part_of(self, rows: dict[str, Any]) -> NDArray[np.int64]:
        return np.asarray(rows["home"] // (self._slots // self._parts), np.int64)

    def add(self, homes: NDArray[np.int64], columns: Arrays) -> None:
        """Add rows, which belong into the slots `homes`."""
        self._runs.add({"home": homes, **columns})

    def filled(
        self, columns: Sequence[str], dtype: type[np.generic], *, free: int, share: ShareDone = lambda share: None
    ) -> NDArray[Any]:
        """For each slot these columns of its row, or where it is `free` this; one column is a number a slot."""
        if self._parts == 1:
            rows: dict[str, Any] = next(self._runs.partitions()) or {"home": np.empty(0, np.int64)}
            slots = kernels.fill_slots(rows["home"], self._slots, 0, self._slots)[0]
            return _values(slots, rows, columns, dtype, free)
        self._runs.write()
        # What the last part leaves begins again at the first slot: nearly always, the last part alone tells it.
        left = self._part(self._parts - 1, None)[2]
        row = [len(columns)] if len(columns) > 1 else []
        while True:
            at_first = left[self._number]
            table = Column(self._workspace, f"{self._name}-filled", dtype, self._slots, *row)
            for part in range(self._parts):
                slots, rows, left = self._part(part, left)
                table.write(_values(slots, rows, columns, dtype, free))
                share((part + 1) / self._parts)
            if np.array_equal(left[self._number], at_first):
                self._runs.close()
                return table.finish()

    def _part(self, part: int, left: Arrays | None) -> tuple[NDArray[np.int32], Arrays, Arrays]:
        """Fill a part of the slots, after what those before it left; returns slots, rows, and what this one leaves."""
        rows: dict[str, Any] = self._runs.read(part, part + 1)
        if left is not None and len(left[self._number]):
            rows = {name: np.concatenate([left[name], values]) for name, values in rows.items()}
            order = np.argsort(rows[self._number], kind="stable")
            rows = {name: values[order] for name, values in rows.items()}
        size = self._slots // self._parts
        slots, over = kernels.fill_slots(rows["home"], self._slots, part * size, size)
        return slots, rows, {name: values[over] for name, values in rows.items()}


def _values(
    slots: NDArray[np.int32], rows: Arrays, columns: Sequence[str], dtype: type[np.generic], free: int
) -> NDArray[Any]:
    values = np.full((len(slots), len(columns)), free, dtype)
    taken = np.flatnonzero(slots >= 0)
    for column, name in enumerate(columns) if len(taken) else ():
        values[taken, column] = rows[name][slots[taken]]
    return values if len(columns) > 1 else values[:, 0]
