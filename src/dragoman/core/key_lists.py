"""Lists of rising keys that may be too many for memory: they are merged, and each distinct key gets a number."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runs import merged
from dragoman.core.store import ArrayReader, ArrayWriter, load_array, save_arrays
from dragoman.core.workspace import Workspace


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
