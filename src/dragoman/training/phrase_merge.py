"""From phrase pairs in parts to one table on disk: the parts are merged by the first occurrence of source phrases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.phrases import PHRASE_SCORES, REORDERING_SCORES
from dragoman.core.progress import ShareDone
from dragoman.core.ragged import Ragged
from dragoman.core.runs import Kept, OffsetsWriter, RaggedWriter, merged
from dragoman.core.slot_table import SlotTable
from dragoman.core.store import Arrays, ArrayWriter, load_array, load_arrays, rows_of, save_arrays
from dragoman.core.workspace import Workspace
from dragoman.model.log_scores import log_scores
from dragoman.model.phrase_table import PhraseTable
from dragoman.training.partitions import Parts

#: What the work on a source phrase takes, on a pair, and on a target phrase, in bytes.
_SOURCE, _PAIR, _TARGET = 250, 250, 200

#: Source phrases are looked at in small steps, as many together as fit: those that occur first have the most pairs.
_FINER = 16

#: Of the time of a merge.
_SHARE_OF_TARGETS = 0.2

#: Ids of phrases have 31 bits.
_MOST = (1 << 31) - 1

_BITS = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)


def merged_table(found: Parts, workspace: Workspace, share: ShareDone = lambda share: None) -> PhraseTable:
    """Index phrase pairs, as `PhraseTable.from_pairs` does; if they are in parts, the table is mapped from disk."""
    if found.whole is not None:
        return PhraseTable.from_pairs(found.whole)
    folder = workspace.folder / "table"
    with workspace.writing():
        write_table(found, workspace, folder, share)
    return mapped_table(load_arrays(folder))


def mapped_table(arrays: Arrays) -> PhraseTable:
    """The table that was written."""
    return PhraseTable.from_arrays(PHRASE_SCORES, arrays)


def write_table(found: Parts, workspace: Workspace, folder: Path, share: ShareDone = lambda share: None) -> None:
    """Merge the parts into the files of a table."""
    used = _Marks(found.instances)
    for part in found.parts:
        used.add(part.load_one("target_first"))
    used.count()
    _write_targets(folder, found.targets, used, workspace)
    share(_SHARE_OF_TARGETS)
    _write_pairs(folder, found.parts, used, workspace, share)
    save_arrays(folder, {"index": _source_index(folder, workspace)})


def _write_targets(folder: Path, targets: list[Kept], used: _Marks, workspace: Workspace) -> None:
    phrases = RaggedWriter(folder, "targets", "target_offsets", np.int32)
    for places in merged([kept.map("first") for kept in targets], workspace.room() // _TARGET):
        blocks, firsts = [], []
        for kept, (a, b) in zip(targets, places, strict=True):
            first = kept.rows("first", a, b)
            wanted = np.flatnonzero(used.has(first))
            blocks.append(kept.ragged("words", "offsets", a, b).take(wanted))
            firsts.append(first[wanted])
        phrases.write(Ragged.concatenate(blocks).take(np.argsort(np.concatenate(firsts))))
    phrases.finish()
    for kept in targets:
        kept.discard()


def _write_pairs(folder: Path, parts: list[Kept], used: _Marks, workspace: Workspace, share: ShareDone) -> None:
    scores = {"scores": ArrayWriter(folder / "log_scores.npy", np.float32, len(PHRASE_SCORES))}
    for name in parts[0].names():
        if name.startswith("reordering."):
            scores[name] = ArrayWriter(folder / f"{name}.npy", np.float32, len(REORDERING_SCORES))
    counts = ArrayWriter(folder / "counts.npy", np.float32, 3)
    target_ids = ArrayWriter(folder / "target_ids.npy", np.int32)
    sources = RaggedWriter(folder, "sources", "source_offsets", np.int32)
    links = RaggedWriter(folder, "alignments", "alignment_offsets", np.uint16)
    first_pair = OffsetsWriter(folder / "first_pair.npy")
    firsts = [part.map("source_first") for part in parts]
    total = sum(map(len, firsts))
    for places in _steps(parts, firsts, workspace.room()):
        step = _Step([(part, *place) for part, place in zip(parts, places, strict=True) if place[1] > place[0]])
        sources.write(step.sources())
        first_pair.write(step.sizes)
        target_ids.write(used.rank(step.pairs("target_first")))
        for name, writer in scores.items():
            writer.write(log_scores(step.pairs(name)))
        counts.write(step.pairs("counts"))
        links.write(step.links())
        share(_SHARE_OF_TARGETS + (1 - _SHARE_OF_TARGETS) * sum(last for _, last in places) / total)
    for writer in (target_ids, counts, *scores.values()):
        writer.finish()
    first_pair.finish()
    for phrases in (sources, links):
        phrases.finish()
    if sources.rows > _MOST:
        raise DataError(f"{sources.rows:,} source phrases", expected="fewer than 2**31: use shorter phrases")
    for part in parts:
        part.discard()


def _steps(parts: list[Kept], firsts: list[NDArray[Any]], room: int) -> Iterator[list[tuple[int, int]]]:
    """The steps of the merge: for each part source phrases that fit into so many bytes together with their pairs."""
    bounds = [part.map("first_pair") for part in parts]
    begin, cost = [0] * len(parts), 0
    end = list(begin)
    for places in merged(firsts, room // (_FINER * _SOURCE)):
        more = sum(
            _SOURCE * (b - a) + _PAIR * int(of_part[b] - of_part[a])
            for of_part, (a, b) in zip(bounds, places, strict=True)
        )
        if cost and cost + more > room:
            yield list(zip(begin, end, strict=True))
            begin, cost = end, 0
        end, cost = [b for _, b in places], cost + more
    yield list(zip(begin, end, strict=True))


def _source_index(folder: Path, workspace: Workspace) -> NDArray[np.int32]:
    """The index of `kernels.sequence_index` for the source phrases that were written, all of which are different."""
    words, offsets = (load_array(folder / f"{name}.npy") for name in ("sources", "source_offsets"))
    number = len(offsets) - 1
    slots = 1 << (2 * number + 1).bit_length()
    table = SlotTable(workspace, "source-slots", slots, number="id", rows=number, bytes_per_row=4)
    step = max(workspace.room() // _SOURCE, 1)
    for first in range(0, number, step):
        bounds = rows_of(offsets, first, first + step + 1)
        homes = kernels.sequence_homes(rows_of(words, bounds[0], bounds[-1]), bounds - bounds[0], slots)
        table.add(homes, {"id": np.arange(first, first + len(homes), dtype=np.int32)})
    return table.filled(["id"], np.int32, free=-1)


class _Step:
    """The source phrases between two numbers, of all parts, and their pairs."""

    def __init__(self, places: list[tuple[Kept, int, int]]):
        self._places = places
        self._bounds = [part.rows("first_pair", a, b + 1) for part, a, b in places]
        self._order = np.argsort(np.concatenate([part.rows("source_first", a, b) for part, a, b in places]))
        sizes = np.concatenate([np.diff(bounds) for bounds in self._bounds])
        pairs = Ragged(np.arange(sizes.sum()), np.concatenate([[0], np.cumsum(sizes)]))
        self._rows = pairs.take(self._order).values
        self.sizes = sizes[self._order]

    def sources(self) -> Ragged[Any]:
        blocks = [part.ragged("sources", "source_offsets", a, b) for part, a, b in self._places]
        return Ragged.concatenate(blocks).take(self._order)

    def pairs(self, name: str) -> NDArray[Any]:
        """One column of the pairs."""
        blocks = [
            part.rows(name, int(bounds[0]), int(bounds[-1]))
            for (part, _, _), bounds in zip(self._places, self._bounds, strict=True)
        ]
        return np.asarray(np.concatenate(blocks)[self._rows])

    def links(self) -> Ragged[Any]:
        blocks = [
            part.ragged("alignments", "alignment_offsets", int(bounds[0]), int(bounds[-1]))
            for (part, _, _), bounds in zip(self._places, self._bounds, strict=True)
        ]
        return Ragged.concatenate(blocks).take(self._rows)


class _Marks:
    """A set of numbers below some bound, a bit each, and their ranks in it."""

    def __init__(self, bound: int):
        self._bits = np.zeros((bound // 64 + 1) * 8, np.uint8)
        self._before = np.zeros(0, np.int64)

    def add(self, numbers: NDArray[Any]) -> None:
        # A byte at a time, so that two numbers of one byte do not overwrite each other.
        np.bitwise_or.at(self._bits, numbers >> 3, (1 << (numbers & 7)).astype(np.uint8))

    def count(self) -> None:
        """To be called after the last number has been added."""
        words = _BITS[self._bits].reshape(-1, 8).sum(axis=1, dtype=np.uint8)
        self._before = np.cumsum(words, dtype=np.int64) - words

    def has(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(self._bits[numbers >> 3] >> (numbers & 7).astype(np.uint8) & 1, bool)

    def rank(self, numbers: NDArray[Any]) -> NDArray[np.int32]:
        """How many smaller ones there are."""
        word = numbers >> 6
        below = (np.uint64(1) << (numbers & 63).astype(np.uint64)) - np.uint64(1)
        inside = (self._bits.view("<u8")[word] & below).astype("<u8").view(np.uint8).reshape(-1, 8)
        return np.asarray(self._before[word] + _BITS[inside].sum(axis=1), np.int32)
