"""Passes of the HMM over groups of sentence pairs, each with the pairs of words that occur in it.

A pass needs whole sentence pairs, whereas probabilities are stored by ranges of generated words. If memory does not
suffice for all, each range distributes its probabilities to the groups, and collects the counts of its pairs from them.
Counts are whole numbers and jumps are summed up block by block, so that both are the same whatever the groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.progress import ProgressCallback, within
from dragoman.core.ragged import blocks_of
from dragoman.core.runtime import Runtime
from dragoman.core.spill import SpilledArrays
from dragoman.core.store import ArrayReader, ArrayWriter
from dragoman.training.align.passes import Cooccurrence, range_table
from dragoman.training.align.translation_table import TranslationTable

#: Forward-backward keeps a few matrices of states by states and words by states; more is not worth the memory.
MAX_MATRIX = 1 << 22

#: Number of blocks of sentence pairs; the jumps of each are summed up separately.
_BLOCKS = 256

#: Memory of a pass per cell, in bytes: its place in its row, and at most one pair.
_CELL = 36


class HmmPasses:
    """The sentence pairs of a translation table, as many together as fit into memory."""

    def __init__(self, table: TranslationTable):
        self._table, self._threads = table, table.runtime.threads
        generated, given = np.diff(table.generated.offsets), np.diff(table.given.offsets)
        too_long = (given + 1) * np.maximum(given, generated + 1) > MAX_MATRIX
        #: Number of sentence pairs that are too long and left out.
        self.left_out = int(np.count_nonzero(too_long & (generated > 0)))
        cells = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.where(too_long, 0, generated * given))])
        # No pair can be counted more often than there are tokens.
        self._unit = 2.0 ** min(52, 62 - len(table.generated.values).bit_length())
        bounds = _balanced(cells)
        costs = _CELL * cells[bounds]
        room = table.runtime.workspace.room()
        most = int(costs[-1]) if costs[-1] <= room else room // 2
        groups = list(blocks_of(costs, max(most, 1)))
        self._whole = len(groups) == 1 and len(table.words) == 1
        self._groups = [
            _Group(table, number, bounds[at.start : at.stop + 1], cells, whole=self._whole)
            for number, at in enumerate(groups)
        ]
        for words, offsets, pairs in () if self._whole else table.rows():
            for group in self._groups:
                group.find_places(words, offsets, pairs, table.null_word)

    def improve(
        self,
        jumps: NDArray[np.float64],
        uniform_share: float,
        null_probability: float,
        alpha: float | None,
        progress_callback: ProgressCallback,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Do a pass of Baum-Welch; return the expected uses of each jump, and the chances to use it."""
        uses, chances = np.zeros(len(jumps)), np.zeros(len(jumps))
        for group, probabilities, part in self._each(progress_callback):
            counts, used, chanced, _ = kernels.hmm_expected_counts(
                *group.corpus(), probabilities, jumps, uniform_share, null_probability, self._unit, self._threads, part
            )
            for block in range(len(used)):  # one after the other, so that sums are the same whatever the groups
                uses += used[block]
                chances += chanced[block]
            group.put_counts(counts)
        self._table.reestimate(self._counts(), alpha)
        return uses, chances

    def likeliest(
        self,
        jumps: NDArray[np.float64],
        uniform_share: float,
        null_probability: float,
        progress_callback: ProgressCallback,
    ) -> NDArray[np.int32]:
        """Return the given position of each generated token, or -1 if it has none; all else is removed."""
        best = [np.empty(0, np.int32)]
        for group, probabilities, part in self._each(progress_callback):
            best.append(
                kernels.hmm_viterbi(
                    *group.corpus(), probabilities, jumps, uniform_share, null_probability, self._threads, part
                )
            )
            group.discard()
        self._table.discard()
        return np.concatenate(best)

    def _each(
        self, progress_callback: ProgressCallback
    ) -> Iterator[tuple[_Group, NDArray[np.float64], ProgressCallback]]:
        """Yield each group with the probabilities of its pairs."""
        if not self._whole:
            for group in self._groups:
                group.begin_probabilities()
            for number, probabilities in enumerate(self._table.probabilities()):
                for group in self._groups:
                    group.add_probabilities(number, probabilities)
        for number, group in enumerate(self._groups):
            probabilities = next(self._table.probabilities()) if self._whole else group.probabilities()
            yield (
                group,
                probabilities,
                within(progress_callback, number / len(self._groups), (number + 1) / len(self._groups)),
            )

    def _counts(self) -> Iterator[NDArray[np.float64]]:
        """Yield the counts of the pairs of each range in all groups."""
        if self._whole:
            yield self._groups[0].counts / self._unit
            return
        for number, (_, _, pairs) in enumerate(self._table.rows()):
            counts = np.zeros(len(pairs), np.int64)
            for group in self._groups:
                group.add_counts(number, counts)
            yield counts / self._unit


class _Group:
    """Consecutive sentence pairs, in blocks with the given `bounds`; unless they are the `whole`, all is on disk."""

    def __init__(
        self,
        table: TranslationTable,
        number: int,
        bounds: NDArray[np.int64],
        cells: NDArray[np.int64],
        *,
        whole: bool,
    ):
        rows = slice(int(bounds[0]), int(bounds[-1]))
        self._workspace, self._name = table.runtime.workspace, f"sentences-{number}"
        self._given, self._generated = table.given.part(rows), table.generated.part(rows)
        self._null_word = table.null_word
        self._cells, self._bounds = cells[rows.start : rows.stop + 1] - cells[rows.start], bounds - bounds[0]
        self._sections = [0]
        self.counts: NDArray[np.int64] = np.empty(0, np.int64)
        made = table.whole() if whole else self._own_pairs(table.types, table.runtime)
        arrays: dict[str, NDArray[Any]] = {
            "pair_offsets": made.pair_offsets,
            "pair_given": made.pair_given,
            "cells": kernels.pair_cells(made.for_kernels(), self._cells, table.runtime.threads),
        }
        self._arrays = arrays if whole else {}
        self._kept = None if whole else SpilledArrays(self._workspace, self._name, arrays)

    def _own_pairs(self, types: int, runtime: Runtime) -> Cooccurrence:
        tokens = kernels.group_tokens(self._generated.values, self._generated.offsets, self._given.offsets, types)
        return range_table(self._given, self._generated, tokens, slice(0, types), self._null_word, runtime=runtime)

    def corpus(self) -> tuple[kernels.Cooccurrence, kernels.UnsignedRows, NDArray[np.int64]]:
        """Return the input of kernels: the pairs, the place of each cell's pair, and the blocks."""
        arrays: dict[str, Any] = self._kept.load() if self._kept is not None else self._arrays
        table = Cooccurrence(
            given=self._given,
            generated=self._generated,
            token_sentences=np.empty(0, np.int32),
            token_positions=np.empty(0, np.int32),
            token_groups=np.zeros(1, np.int64),
            pair_offsets=arrays["pair_offsets"],
            pair_given=arrays["pair_given"],
            null_word=self._null_word,
        )
        return table.for_kernels(), kernels.UnsignedRows(values=arrays["cells"], offsets=self._cells), self._bounds

    def find_places(self, words: slice, offsets: NDArray[np.int64], pairs: NDArray[np.int32], null_word: int) -> None:
        """Find the places of this group's pairs among all pairs of a range of words."""
        assert self._kept is not None
        rows = self._kept.rows("pair_offsets", words.start, words.stop + 1)
        own = self._kept.rows("pair_given", int(rows[0]), int(rows[-1]))
        with self._workspace.writing():
            if len(self._sections) == 1:
                self._places_written = ArrayWriter(self._file("places"), np.uint32)
            self._places_written.write(kernels.pair_places(rows, own, offsets, pairs, null_word))
            self._sections.append(int(rows[-1]))
            self._places_written.finish()
        self._places = ArrayReader(self._file("places"))

    def begin_probabilities(self) -> None:
        """Prepare for the probabilities of another pass."""
        with self._workspace.writing():
            self._writer = ArrayWriter(self._file("probabilities"), np.float64)

    def add_probabilities(self, number: int, probabilities: NDArray[np.float64]) -> None:
        """Add the probabilities of the pairs of a range that occur here."""
        with self._workspace.writing():
            self._writer.write(probabilities[self._places.rows(*self._sections[number : number + 2])])

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probabilities that were added."""
        with self._workspace.writing():
            self._writer.finish()
        return ArrayReader(self._file("probabilities")).rows()

    def put_counts(self, counts: NDArray[np.int64]) -> None:
        """Store the counts of the pairs."""
        if self._kept is None:
            self.counts = counts
        else:
            self._counts_kept = SpilledArrays(self._workspace, f"{self._name}-counts", {"counts": counts})

    def add_counts(self, number: int, counts: NDArray[np.int64]) -> None:
        """Add the stored counts to those of all pairs of a range."""
        own = self._counts_kept.rows("counts", *self._sections[number : number + 2])
        counts[self._places.rows(*self._sections[number : number + 2])] += own

    def discard(self) -> None:
        """Remove what is on disk."""
        if self._kept is not None:
            self._kept.discard()
            self._counts_kept.discard()
            for name in ("places", "probabilities"):
                self._file(name).unlink()

    def _file(self, name: str) -> Path:
        return self._workspace.folder / f"{self._name}-{name}.npy"


def _balanced(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bounds of blocks of rows with about equally many values."""
    rows, bounds = len(offsets) - 1, [0]
    for block in range(1, _BLOCKS):
        row = int(np.searchsorted(offsets, np.int64(float(offsets[-1]) * block / _BLOCKS)))
        if bounds[-1] < row < rows:
            bounds.append(row)
    return np.array([*bounds, rows] if rows else bounds)
