"""Merge phrase tables and grammars from parts on disk.

The nodes of each level of a grammar are sorted by parent and symbol, in the parts as in the whole, and rules are in the
order of their nodes. So each level is a merge of sorted lists, straight into the files of the grammar.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.phrases import PHRASE_SCORES, REORDERING_SCORES, PhrasePairs
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.spill import KeyLists, OffsetsWriter, RaggedWriter, SlotTable, SpilledArrays, merge_steps
from dragoman.core.store import Arrays, ArrayWriter, load_array, load_arrays, read_rows, save_arrays
from dragoman.core.workspace import Workspace
from dragoman.model.grammar import NONTERMINAL, ROOT, Grammar
from dragoman.model.phrase_table import PhraseTable, log_scores
from dragoman.training.partitions import ScoredParts

#: Memory for the work on a source phrase, on a pair and on a target phrase, in bytes.
_SOURCE, _PAIR, _TARGET = 250, 250, 200

#: Source phrases are merged in small steps, as many together as fit: those that occur first have the most pairs.
_FINER = 16

#: Share of the time of a merge.
_SHARE_OF_TARGETS = 0.2

#: Ids of phrases, and nodes of a trie, have 31 bits.
_MOST = (1 << 31) - 1

_BITS = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)


Indexed = TypeVar("Indexed", PhraseTable, Grammar)


@dataclass(frozen=True)
class Index(Generic[Indexed]):
    """The ways from pairs to a part of a model: those in memory directly, those in parts by a merge into files."""

    from_pairs: Callable[[PhrasePairs], Indexed]
    write: Callable[[ScoredParts, Workspace, Path, ProgressCallback], None]
    from_arrays: Callable[[Arrays], Indexed]

    def build(
        self,
        found: ScoredParts,
        workspace: Workspace,
        progress_callback: ProgressCallback = lambda done: None,
    ) -> Indexed:
        """Index pairs; if they are in parts, the index is mapped from files of the workspace."""
        if found.whole is not None:
            return self.from_pairs(found.whole)
        with workspace.writing():
            folder = Path(tempfile.mkdtemp(prefix="index-", dir=workspace.folder))
            self.write(found, workspace, folder, progress_callback)
        return self.from_arrays(load_arrays(folder))


def _write_table(found: ScoredParts, workspace: Workspace, folder: Path, progress_callback: ProgressCallback) -> None:
    """Merge the parts of a phrase table into its files, and remove them."""
    used = _Marks(found.instances)
    for part in found.parts:
        used.add(part.load_one("target_first"))
    used.count()
    _write_targets(folder, found.targets, used, workspace)
    progress_callback(_SHARE_OF_TARGETS)
    _write_pairs(folder, found.parts, used, workspace, progress_callback)
    save_arrays(folder, {"index": _source_index(folder, workspace)})


def _write_targets(folder: Path, targets: list[SpilledArrays], used: _Marks, workspace: Workspace) -> None:
    phrases = RaggedWriter(folder, "targets", "target_offsets", np.int32)
    for places in merge_steps([kept.map("first") for kept in targets], workspace.room() // _TARGET):
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


def _write_pairs(
    folder: Path, parts: list[SpilledArrays], used: _Marks, workspace: Workspace, progress_callback: ProgressCallback
) -> None:
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
        progress_callback(_SHARE_OF_TARGETS + (1 - _SHARE_OF_TARGETS) * sum(last for _, last in places) / total)
    for writer in (target_ids, counts, *scores.values()):
        writer.finish()
    first_pair.finish()
    for phrases in (sources, links):
        phrases.finish()
    if sources.rows > _MOST:
        raise DataError(f"{sources.rows:,} source phrases", expected="fewer than 2**31: use shorter phrases")
    for part in parts:
        part.discard()


def _steps(parts: list[SpilledArrays], firsts: list[NDArray[Any]], room: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the steps of the merge: a range of source phrases of each part, which fit into `room` with their pairs."""
    bounds = [part.map("first_pair") for part in parts]
    begin, cost = [0] * len(parts), 0
    end = list(begin)
    for places in merge_steps(firsts, room // (_FINER * _SOURCE)):
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
    """Return the index of `kernels.sequence_index` for the source phrases in the files, which are all different."""
    words, offsets = (load_array(folder / f"{name}.npy") for name in ("sources", "source_offsets"))
    number = len(offsets) - 1
    slots = 1 << (2 * number + 1).bit_length()
    table = SlotTable(workspace, "source-slots", slots, number="id", rows=number, bytes_per_row=4)
    step = max(workspace.room() // _SOURCE, 1)
    for first in range(0, number, step):
        bounds = read_rows(offsets, first, first + step + 1)
        homes = kernels.sequence_homes(read_rows(words, bounds[0], bounds[-1]), bounds - bounds[0], slots)
        table.add(homes, {"id": np.arange(first, first + len(homes), dtype=np.int32)})
    return table.fill(["id"], np.int32, free=-1)


class _Step:
    """A range of source phrases of all parts, and their pairs."""

    def __init__(self, places: list[tuple[SpilledArrays, int, int]]):
        self._places = places
        self._bounds = [part.rows("first_pair", a, b + 1) for part, a, b in places]
        self._order = np.argsort(np.concatenate([part.rows("source_first", a, b) for part, a, b in places]))
        sizes = np.concatenate([np.diff(bounds) for bounds in self._bounds])
        self._rows = _rows_of(sizes, self._order)
        self.sizes = sizes[self._order]

    def sources(self) -> Ragged[Any]:
        blocks = [part.ragged("sources", "source_offsets", a, b) for part, a, b in self._places]
        return Ragged.concatenate(blocks).take(self._order)

    def pairs(self, name: str) -> NDArray[Any]:
        """Return one column of the pairs."""
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
        """Prepare ranks; to be called after the last number has been added."""
        words = _BITS[self._bits].reshape(-1, 8).sum(axis=1, dtype=np.uint8)
        self._before = np.cumsum(words, dtype=np.int64) - words

    def has(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(self._bits[numbers >> 3] >> (numbers & 7).astype(np.uint8) & 1, bool)

    def rank(self, numbers: NDArray[Any]) -> NDArray[np.int32]:
        """Return the number of smaller numbers in the set."""
        word = numbers >> 6
        below = (np.uint64(1) << (numbers & 63).astype(np.uint64)) - np.uint64(1)
        inside = (self._bits.view("<u8")[word] & below).astype("<u8").view(np.uint8).reshape(-1, 8)
        return np.asarray(self._before[word] + _BITS[inside].sum(axis=1), np.int32)


#: Memory for the work on a node with its rules, in bytes.
_NODE = 1000


def _write_grammar(
    parts: Sequence[SpilledArrays], workspace: Workspace, folder: Path, progress_callback: ProgressCallback
) -> None:
    """Merge grammars into the files of one, and remove them."""
    tries = [_Trie(part) for part in parts]
    nodes, rules = _Nodes(folder), _Rules(folder)
    done, total, level = 0, sum(trie.size for trie in tries), 0
    numbers = [np.zeros(1, np.int64)] * len(tries)  # of the nodes of the level above: those of the roots
    while any(trie.inner for trie in tries):
        lists = KeyLists(
            workspace, f"level-{level}", (trie.descend(above) for trie, above in zip(tries, numbers, strict=True))
        )
        for step in lists.merge(workspace.room() // _NODE, nodes.number):
            nodes.add(step.keys)
            bounds = [tries[i].rule_bounds(first, last) for i, first, last in step.places]
            sizes = np.concatenate([np.diff(bound) for bound in bounds])
            nodes.add_rules(np.bincount(step.rows, sizes).astype(np.int64))
            spans = [(parts[i], *bound[[0, -1]].tolist()) for (i, _, _), bound in zip(step.places, bounds, strict=True)]
            rules.add(spans, _rows_of(sizes, np.argsort(step.rows, kind="stable")))
            done += len(step.rows)
            progress_callback(done / total)
        nodes.end_level()
        numbers = [lists.numbers(i) for i in range(len(tries))]
        lists.discard()
        level += 1
    nodes.finish()
    rules.finish()
    for part in parts:
        part.discard()


def _rows_of(sizes: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of groups with the given sizes, the groups taken in that order."""
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Ragged(np.arange(offsets[-1]), offsets).take(order).values


class _Trie:
    """The trie of one part, level by level; the key of a node is the number of its parent, and its symbol."""

    def __init__(self, part: SpilledArrays):
        self._part = part
        self._first, self._last = 0, 1  # the nodes of the level
        self._next = int(part.rows("first_child", 1, 2)[0])
        self.size = len(part.map("symbols")) - 1

    @property
    def inner(self) -> bool:
        """True if there is a level below."""
        return self._next > self._last

    def descend(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Go to the level below and return its keys, given the numbers of this level's nodes in the whole trie."""
        sizes = np.diff(self._part.rows("first_child", self._first, self._last + 1))
        self._first, self._last = self._last, self._next
        self._next = int(self._part.rows("first_child", self._last, self._last + 1)[0])
        symbols = self._part.rows("symbols", self._first, self._last).astype(np.int64)
        return np.asarray(np.repeat(numbers, sizes) << 32 | (symbols - NONTERMINAL))

    def rule_bounds(self, first: int, last: int) -> NDArray[np.int64]:
        """Return the offsets of the rules of some nodes of the level."""
        return self._part.rows("first_rule", self._first + first, self._first + last + 1)


class _Nodes:
    """Writer of the nodes of a trie: the symbol of each, and the offsets of its children and rules."""

    def __init__(self, folder: Path):
        self._symbols = ArrayWriter(folder / "symbols.npy", np.int32)
        self._children = OffsetsWriter(folder / "first_child.npy", 1)
        self._rules = OffsetsWriter(folder / "first_rule.npy")
        self._symbols.write(np.array([ROOT], np.int32))
        self._rules.write(np.zeros(1, np.int64))
        self._parents, self._pending = 1, 0
        self.number = 1  #: of the next node

    def add(self, keys: NDArray[np.int64]) -> None:
        """Write nodes; their keys are sorted."""
        self._symbols.write(((keys & 0xFFFFFFFF) + NONTERMINAL).astype(np.int32))
        parents = keys >> 32
        # The last parent may have more children to come.
        first = self._children.rows
        counts = np.bincount(parents - first)
        counts[0] += self._pending
        self._pending = int(counts[-1])
        self._children.write(counts[:-1])
        self.number += len(keys)

    def add_rules(self, sizes: NDArray[np.int64]) -> None:
        """Write the numbers of rules of these nodes."""
        self._rules.write(sizes)

    def end_level(self) -> None:
        """Write the children of the last parent; the parents after it have none."""
        left = np.zeros(self._parents - self._children.rows, np.int64)
        if len(left):
            left[0] = self._pending
        self._children.write(left)
        self._pending, self._parents = 0, self.number
        if self.number > _MOST:
            raise DataError(f"{self.number:,} nodes of source sides", expected="fewer than 2**31: use shorter rules")

    def finish(self) -> None:
        """Complete the files; the nodes of the last level have no children."""
        self.end_level()
        for writer in (self._symbols, self._children, self._rules):
            writer.finish()


class _Rules:
    """Writer of the rules of a grammar."""

    def __init__(self, folder: Path):
        self._columns = {
            "log_scores": ArrayWriter(folder / "log_scores.npy", np.float32, len(PHRASE_SCORES)),
            "counts": ArrayWriter(folder / "counts.npy", np.float32, 3),
        }
        self._rows = {
            ("targets", "target_offsets"): RaggedWriter(folder, "targets", "target_offsets", np.int32),
            ("alignments", "alignment_offsets"): RaggedWriter(folder, "alignments", "alignment_offsets", np.uint16),
        }

    def add(self, places: Sequence[tuple[SpilledArrays, int, int]], order: NDArray[np.int64]) -> None:
        """Write rules from ranges of the parts, in the given order."""
        for name, column in self._columns.items():
            rows: NDArray[Any] = np.concatenate([part.rows(name, a, b) for part, a, b in places])
            column.write(rows[order])
        for names, writer in self._rows.items():
            writer.write(Ragged.concatenate([part.ragged(*names, a, b) for part, a, b in places]).take(order))

    def finish(self) -> None:
        """Complete the files."""
        for column in self._columns.values():
            column.finish()
        for writer in self._rows.values():
            writer.finish()


def table_index() -> Index[PhraseTable]:
    """Return how phrase pairs are indexed as a phrase table."""
    return Index(PhraseTable.from_pairs, _write_table, lambda arrays: PhraseTable.from_arrays(PHRASE_SCORES, arrays))


def grammar_index(hole_counts: NDArray[np.float64] | None = None) -> Index[Grammar]:
    """Return how rules are indexed as a grammar; `hole_counts` are its counts of reordered nonterminals."""

    def write(found: ScoredParts, workspace: Workspace, folder: Path, progress_callback: ProgressCallback) -> None:
        _write_grammar(found.parts, workspace, folder, progress_callback)
        if hole_counts is not None:
            save_arrays(folder, {"hole_counts": hole_counts})

    return Index(
        lambda pairs: Grammar.from_pairs(pairs, hole_counts),
        write,
        lambda arrays: Grammar.rebuild({"scores": list(PHRASE_SCORES)}, arrays),
    )
