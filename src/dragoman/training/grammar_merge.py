"""From grammars that have no source side in common, which wait on disk, to one: their tries are merged level by level.

The nodes of a level stand in the order of their parents and symbols, in each part as in the whole, and rules in the
order of their nodes. So a level is a merge of lists that rise, straight into the files of the grammar.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.key_lists import KeyLists
from dragoman.core.phrases import PHRASE_SCORES
from dragoman.core.progress import ShareDone
from dragoman.core.ragged import Ragged
from dragoman.core.runs import Kept, OffsetsWriter, RaggedWriter
from dragoman.core.store import Arrays, ArrayWriter, load_arrays, save_arrays
from dragoman.core.workspace import Workspace
from dragoman.model.grammar import NONTERMINAL, ROOT, Grammar
from dragoman.training.partitions import Parts

#: What the work on a node with its rules takes, in bytes.
_NODE = 1000

#: Nodes of a trie have 31 bits.
_MOST = (1 << 31) - 1


def merged_grammar(
    found: Parts,
    workspace: Workspace,
    hole_counts: NDArray[np.float64] | None = None,
    share: ShareDone = lambda share: None,
) -> Grammar:
    """Index rules, as `Grammar.from_pairs` does; if they are in parts, the grammar is mapped from disk."""
    if found.whole is not None:
        return Grammar.from_pairs(found.whole, hole_counts)
    with workspace.writing():
        folder = Path(tempfile.mkdtemp(prefix="grammar-", dir=workspace.folder))
        write_grammar(found.parts, workspace, folder, hole_counts, share)
    return mapped_grammar(load_arrays(folder))


def mapped_grammar(arrays: Arrays) -> Grammar:
    """The grammar that was written."""
    return Grammar.restored({"scores": list(PHRASE_SCORES)}, arrays)


def write_grammar(
    parts: Sequence[Kept],
    workspace: Workspace,
    folder: Path,
    hole_counts: NDArray[np.float64] | None = None,
    share: ShareDone = lambda share: None,
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
            nodes.add(step.found)
            bounds = [tries[i].rule_bounds(first, last) for i, first, last in step.places]
            sizes = np.concatenate([np.diff(bound) for bound in bounds])
            nodes.add_rules(np.bincount(step.rows, sizes).astype(np.int64))
            spans = [(parts[i], *bound[[0, -1]].tolist()) for (i, _, _), bound in zip(step.places, bounds, strict=True)]
            rules.add(spans, _rows_of(sizes, np.argsort(step.rows, kind="stable")))
            done += len(step.rows)
            share(done / total)
        nodes.end_level()
        numbers = [lists.numbers(i) for i in range(len(tries))]
        lists.discard()
        level += 1
    nodes.finish()
    rules.finish()
    if hole_counts is not None:
        save_arrays(folder, {"hole_counts": hole_counts})
    for part in parts:
        part.discard()


def _rows_of(sizes: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rules of nodes that have so many each, the nodes taken in some order."""
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Ragged(np.arange(offsets[-1]), offsets).take(order).values


class _Trie:
    """The trie of one part, level by level; a node is known by its key: the number of its parent, and its symbol."""

    def __init__(self, part: Kept):
        self._part = part
        self._first, self._last = 0, 1  # the nodes of the level
        self._next = int(part.rows("first_child", 1, 2)[0])
        self.size = len(part.map("symbols")) - 1

    @property
    def inner(self) -> bool:
        """Whether there is a level below."""
        return self._next > self._last

    def descend(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Go to the level below, given the numbers of the nodes of this one in the whole; returns its keys."""
        sizes = np.diff(self._part.rows("first_child", self._first, self._last + 1))
        self._first, self._last = self._last, self._next
        self._next = int(self._part.rows("first_child", self._last, self._last + 1)[0])
        symbols = self._part.rows("symbols", self._first, self._last).astype(np.int64)
        return np.asarray(np.repeat(numbers, sizes) << 32 | (symbols - NONTERMINAL))

    def rule_bounds(self, first: int, last: int) -> NDArray[np.int64]:
        """Where the rules of some nodes of the level begin, and where the last ones end."""
        return self._part.rows("first_rule", self._first + first, self._first + last + 1)


class _Nodes:
    """Writes the nodes of a trie: what leads to each, where its children begin, and where its rules do."""

    def __init__(self, folder: Path):
        self._symbols = ArrayWriter(folder / "symbols.npy", np.int32)
        self._children = OffsetsWriter(folder / "first_child.npy", 1)
        self._rules = OffsetsWriter(folder / "first_rule.npy")
        self._symbols.write(np.array([ROOT], np.int32))
        self._rules.write(np.zeros(1, np.int64))
        self._parents, self._pending = 1, 0
        self.number = 1  #: of the next node

    def add(self, keys: NDArray[np.int64]) -> None:
        """Write nodes with rising keys."""
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
        """Write how many rules these nodes have."""
        self._rules.write(sizes)

    def end_level(self) -> None:
        """Write the last parent's children, and that those after it have none."""
        left = np.zeros(self._parents - self._children.rows, np.int64)
        if len(left):
            left[0] = self._pending
        self._children.write(left)
        self._pending, self._parents = 0, self.number
        if self.number > _MOST:
            raise DataError(f"{self.number:,} nodes of source sides", expected="fewer than 2**31: use shorter rules")

    def finish(self) -> None:
        """Write how many there are; the nodes of the last level have no children."""
        self.end_level()
        for writer in (self._symbols, self._children, self._rules):
            writer.finish()


class _Rules:
    """Writes the rules of a grammar."""

    def __init__(self, folder: Path):
        self._columns = {
            "log_scores": ArrayWriter(folder / "log_scores.npy", np.float32, len(PHRASE_SCORES)),
            "counts": ArrayWriter(folder / "counts.npy", np.float32, 3),
        }
        self._rows = {
            ("targets", "target_offsets"): RaggedWriter(folder, "targets", "target_offsets", np.int32),
            ("alignments", "alignment_offsets"): RaggedWriter(folder, "alignments", "alignment_offsets", np.uint16),
        }

    def add(self, places: Sequence[tuple[Kept, int, int]], order: NDArray[np.int64]) -> None:
        """Write the rules of some places in parts, in this order."""
        for name, column in self._columns.items():
            rows: NDArray[Any] = np.concatenate([part.rows(name, a, b) for part, a, b in places])
            column.write(rows[order])
        for names, writer in self._rows.items():
            writer.write(Ragged.concatenate([part.ragged(*names, a, b) for part, a, b in places]).take(order))

    def finish(self) -> None:
        """Write how many there are."""
        for column in self._columns.values():
            column.finish()
        for writer in self._rows.values():
            writer.finish()
