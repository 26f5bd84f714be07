"""N-grams that know where their contexts and suffixes stand: they are indexed without looking anything up, in blocks.

The arrays are those that `LanguageModel.from_ngrams` makes of the same n-grams. Each order goes by once, sorted as it
is: which n-grams are contexts, and of which words, is known from the next order, the state of a suffix from the one
before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.progress import ShareDone, within
from dragoman.core.runs import Column, Runs
from dragoman.core.sound import LARGEST
from dragoman.core.store import Arrays, rows_of
from dragoman.core.vocab import Vocab
from dragoman.core.workspace import Workspace
from dragoman.model.language_model import ENTRY, LanguageModel

#: What the work on an n-gram takes, in bytes: on its state, on dealing its entry out, and on its slots, up to three.
_NGRAM, _ROW, _SLOT = 200, 64, 128

#: No entries of a hash table.
_NONE: Arrays = {"keys": np.empty(0, np.uint64), "entries": np.empty(0, np.uint64)}

#: N-grams that are counted together.
_ROWS_AT_ONCE = 1 << 20

#: Slots are filled in at most so many parts.
_MOST_PARTS = 1024


@dataclass(frozen=True, eq=False)
class LinkedNGrams:
    """The n-grams of one order, sorted by their ids; logarithms are to base 10.

    `contexts` and `suffixes` are the rows of the n-grams without their last and without their first word in the table
    of the order below. Unigrams have one row for each word of the vocabulary. Those that are not `kept` count as if
    they were not there; whatever is kept has a context and a suffix that are.
    """

    words: NDArray[np.int32]
    contexts: NDArray[np.int32]
    suffixes: NDArray[np.int32]
    logprobs: NDArray[np.float32]
    backoffs: NDArray[np.float32]
    kept: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.words)

    def last_words(self, first: int, last: int) -> NDArray[np.int32]:
        """The last words of some n-grams."""
        return np.ascontiguousarray(rows_of(self.words, first, last)[:, -1])


def index_ngrams(
    vocab: Vocab,
    orders: Sequence[LinkedNGrams],
    *,
    workspace: Workspace | None = None,
    share: ShareDone = lambda share: None,
) -> LanguageModel:
    """Index n-grams in the memory of a workspace; what does not fit is mapped from its folder."""
    workspace = workspace or Workspace()
    rows = sum(map(len, orders))
    states = Column(workspace, "lm-states", np.uint64, 1 + rows, 2)
    states.write(np.zeros((1, 2), np.uint64))  # the empty context
    slots = _Slots(workspace, sum(_kept(table) for table in orders[1:]))
    unigrams: list[NDArray[np.uint64]] = []
    # The first state of each length; and of each n-gram of the order below the state that it leads to.
    bounds, below, done = [0, 1], np.zeros(1, np.int32), 0
    for n, table in enumerate(orders, 1):
        longer = orders[n] if n < len(orders) else None
        reached, next_state = np.empty(len(table) if longer is not None else 0, np.int32), bounds[n]
        for at, children in _blocks(len(table), longer, max(workspace.room() // _NGRAM, 1)):
            filters = _filters(longer, at, children) if longer is not None else np.zeros(at.stop - at.start, np.uint64)
            kept = rows_of(table.kept, at.start, at.stop)
            backoffs = np.clip(rows_of(table.backoffs, at.start, at.stop), np.float32(-LARGEST), np.float32(LARGEST))
            is_state = kept & ((filters != 0) | ((backoffs != 0) & (longer is not None)))
            suffixes = below[rows_of(table.suffixes, at.start, at.stop)]
            found = np.where(is_state, next_state - 1 + np.cumsum(is_state, dtype=np.int32), suffixes)
            states.write(np.stack([_packed(backoffs, suffixes), filters], axis=1)[is_state])
            # Logarithms of 0 would make sums that are no numbers.
            entries = _packed(np.maximum(rows_of(table.logprobs, at.start, at.stop), np.float32(-LARGEST)), found)
            if n == 1:
                unigrams.append(entries)
            else:
                parents = below[rows_of(table.contexts, at.start, at.stop)].astype(np.uint64)
                slots.add(
                    (parents << np.uint64(32) | table.last_words(at.start, at.stop).astype(np.uint64))[kept],
                    entries[kept],
                )
            if longer is not None:
                reached[at] = found
            next_state += int(np.count_nonzero(is_state))
            done += at.stop - at.start
            share(0.5 * done / rows)
        below = reached
        bounds.append(next_state)
    return LanguageModel(
        vocab,
        slots.filled(within(share, 0.5, 1)),
        states.finish(),
        np.concatenate(unigrams),
        np.array(bounds[:-1]),
        np.empty(0, np.int64),
        np.empty(0, np.int32),
    )


def _kept(table: LinkedNGrams) -> int:
    return sum(
        int(np.count_nonzero(rows_of(table.kept, first, first + _ROWS_AT_ONCE)))
        for first in range(0, len(table), _ROWS_AT_ONCE)
    )


def _blocks(rows: int, longer: LinkedNGrams | None, size: int) -> Iterator[tuple[slice, slice]]:
    """Cut n-grams into ranges of about so many together with those that they are contexts of, and these."""
    first = begin = 0
    while first < rows:
        last, end = min(first + size, rows), 0
        if longer is not None:
            if begin + size < len(longer):
                last = min(last, max(int(longer.contexts[begin + size]), first + 1))
            end = int(np.searchsorted(longer.contexts, np.int32(last))) if last < rows else len(longer)
        yield slice(first, last), slice(begin, end)
        first, begin = last, end


def _filters(longer: LinkedNGrams, at: slice, children: slice) -> NDArray[np.uint64]:
    """The filters of contexts, 0 where nothing that follows is kept."""
    filters = np.zeros(at.stop - at.start, np.uint64)
    kept = rows_of(longer.kept, children.start, children.stop)
    contexts = rows_of(longer.contexts, children.start, children.stop)[kept] - at.start
    words = longer.last_words(children.start, children.stop)[kept]
    if len(contexts):
        firsts = np.flatnonzero(np.diff(contexts, prepend=np.int32(-1)))
        bits = np.uint64(1) << (words.astype(np.uint32) * np.uint32(0x9E3779B1) >> np.uint32(26)).astype(np.uint64)
        filters[contexts[firsts]] = np.bitwise_or.reduceat(bits, firsts)
    return filters


def _packed(logarithms: NDArray[np.float32], states: NDArray[np.int32]) -> NDArray[np.uint64]:
    entries = np.empty(len(states), ENTRY)
    entries["log10"], entries["state"] = logarithms, states
    return entries.view(np.uint64)


class _Slots:
    """A hash table of so many entries, which come in the order of their keys, filled in parts that fit into memory.

    An entry is put into its slot or, where that is taken, into the first one behind it that is free. So a part of the
    slots can be filled when it is known which entries found no place in those before.
    """

    def __init__(self, workspace: Workspace, entries: int):
        self._workspace = workspace
        self._size = 1 << (entries + entries // 2).bit_length()
        parts = 1 << (_SLOT * entries // workspace.room()).bit_length()
        self._parts = min(parts, _MOST_PARTS, self._size)
        self._runs = Runs(workspace, "lm-slots", self._part_of, bytes_per_row=_ROW, buckets=self._parts)

    def _part_of(self, rows: dict[str, Any]) -> NDArray[np.int64]:
        return kernels.lm_homes(rows["keys"], self._size) // (self._size // self._parts)

    def add(self, keys: NDArray[np.uint64], entries: NDArray[np.uint64]) -> None:
        """Add entries."""
        self._runs.add({"keys": keys, "entries": entries})

    def filled(self, share: ShareDone) -> NDArray[np.uint64]:
        """All slots: pairs of key and entry."""
        if self._parts == 1:
            rows: dict[str, Any] = _NONE | next(self._runs.partitions())
            return kernels.lm_slots(rows["keys"], rows["entries"], self._size, 0, self._size)[0]
        self._runs.write()
        # What the last part leaves begins again at the first slot: nearly always, the last part alone tells it.
        left = self._part(self._parts - 1, _NONE)[1]
        while True:
            at_first, table = left, Column(self._workspace, "lm-index", np.uint64, self._size, 2)
            for part in range(self._parts):
                slots, left = self._part(part, left)
                table.write(slots)
                share((part + 1) / self._parts)
            if np.array_equal(left["keys"], at_first["keys"]):
                self._runs.close()
                return table.finish()

    def _part(self, part: int, left: Arrays) -> tuple[NDArray[np.uint64], Arrays]:
        """Fill a part of the slots, after what those before it left; returns what it leaves."""
        own = self._runs.read(part, part + 1)
        rows: dict[str, Any] = {name: np.concatenate([left[name], own[name]]) for name in left}
        order = np.argsort(rows["keys"], kind="stable")
        rows = {name: values[order] for name, values in rows.items()}
        size = self._size // self._parts
        slots, over = kernels.lm_slots(rows["keys"], rows["entries"], self._size, part * size, size)
        return slots, {name: values[over] for name, values in rows.items()}
