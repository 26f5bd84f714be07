"""N-grams with links to their contexts and suffixes: they are indexed in blocks, without look-ups.

The arrays equal those that `LanguageModel.from_ngrams` makes of the same n-grams. Each order is read once, in sorted
order: the next order tells which n-grams are contexts, and of which words; the order before tells the state of a
suffix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Vocab
from dragoman.core.progress import ProgressCallback, within
from dragoman.core.runtime import Runtime
from dragoman.core.spill import ArrayBuilder, SlotTable
from dragoman.core.store import LARGEST, read_rows
from dragoman.model.language_model import ENTRY, LanguageModel

#: What the work on an n-gram takes, in bytes.
_NGRAM = 200

#: N-grams that are counted together.
_ROWS_AT_ONCE = 1 << 20


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
        return np.ascontiguousarray(read_rows(self.words, first, last)[:, -1])


def index_ngrams(
    vocab: Vocab,
    orders: Sequence[LinkedNGrams],
    *,
    progress_callback: ProgressCallback = lambda done: None,
    runtime: Runtime = Runtime(),
) -> LanguageModel:
    """Index n-grams in the memory of the runtime's workspace; what does not fit is mapped from its folder."""
    workspace = runtime.workspace
    rows = sum(map(len, orders))
    states = ArrayBuilder(workspace, "lm-states", np.uint64, 1 + rows, 2)
    states.write(np.zeros((1, 2), np.uint64))  # the empty context
    entries = sum(_kept(table) for table in orders[1:])
    size = 1 << (entries + entries // 2).bit_length()
    slots = SlotTable(workspace, "lm-slots", size, number="key", rows=entries, bytes_per_row=16)
    unigrams: list[NDArray[np.uint64]] = []
    # The first state of each length; and of each n-gram of the order below the state that it leads to.
    bounds, below, done = [0, 1], np.zeros(1, np.int32), 0
    for n, table in enumerate(orders, 1):
        longer = orders[n] if n < len(orders) else None
        reached, next_state = np.empty(len(table) if longer is not None else 0, np.int32), bounds[n]
        for at, children in _blocks(len(table), longer, max(workspace.room() // _NGRAM, 1)):
            filters = _filters(longer, at, children) if longer is not None else np.zeros(at.stop - at.start, np.uint64)
            kept = read_rows(table.kept, at.start, at.stop)
            backoffs = np.clip(read_rows(table.backoffs, at.start, at.stop), np.float32(-LARGEST), np.float32(LARGEST))
            is_state = kept & ((filters != 0) | ((backoffs != 0) & (longer is not None)))
            suffixes = below[read_rows(table.suffixes, at.start, at.stop)]
            found = np.where(is_state, next_state - 1 + np.cumsum(is_state, dtype=np.int32), suffixes)
            states.write(np.stack([_packed(backoffs, suffixes), filters], axis=1)[is_state])
            # Logarithms of 0 would make sums that are no numbers.
            packed = _packed(np.maximum(read_rows(table.logprobs, at.start, at.stop), np.float32(-LARGEST)), found)
            if n == 1:
                unigrams.append(packed)
            else:
                parents = below[read_rows(table.contexts, at.start, at.stop)].astype(np.uint64)
                keys = (parents << np.uint64(32) | table.last_words(at.start, at.stop).astype(np.uint64))[kept]
                slots.add(kernels.lm_homes(keys, size), {"key": keys, "entry": packed[kept]})
            if longer is not None:
                reached[at] = found
            next_state += int(np.count_nonzero(is_state))
            done += at.stop - at.start
            progress_callback(0.5 * done / rows)
        below = reached
        bounds.append(next_state)
    return LanguageModel(
        vocab,
        slots.fill(["key", "entry"], np.uint64, free=0, progress_callback=within(progress_callback, 0.5, 1)),
        states.finish(),
        np.concatenate(unigrams),
        np.array(bounds[:-1]),
        np.empty(0, np.int64),
        np.empty(0, np.int32),
    )


def _kept(table: LinkedNGrams) -> int:
    return sum(
        int(np.count_nonzero(read_rows(table.kept, first, first + _ROWS_AT_ONCE)))
        for first in range(0, len(table), _ROWS_AT_ONCE)
    )


def _blocks(rows: int, longer: LinkedNGrams | None, size: int) -> Iterator[tuple[slice, slice]]:
    """Cut n-grams into ranges of about `size`, each with the range of longer n-grams that have them as contexts."""
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
    kept = read_rows(longer.kept, children.start, children.stop)
    contexts = read_rows(longer.contexts, children.start, children.stop)[kept] - at.start
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
