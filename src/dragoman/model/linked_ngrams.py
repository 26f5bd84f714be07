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
from dragoman.core.workspace import Workspace
from dragoman.model.language_model import CONTEXT, ENTRY, FILTER, LIKELIEST, NO_WORD, WORD, LanguageModel

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
    contexts = ArrayBuilder(workspace, "lm-contexts", np.uint64, 1 + rows, 2)
    contexts.write(np.zeros((1, 2), np.uint64))  # the empty context
    # The likeliest word after a context goes to its state, the others into slots.
    likeliest = ArrayBuilder(workspace, "lm-likeliest", np.uint64, rows, 3)
    entries = sum(map(_less_likely, orders[1:]))
    size = kernels.lm_slots(entries)
    slots = SlotTable(workspace, "lm-slots", size, number="key", rows=entries, bytes_per_row=16)
    unigrams: list[NDArray[np.uint64]] = []
    # The first state of each length; and of each n-gram of the order below the state that it leads to.
    bounds, below, done = [0, 1], np.zeros(1, np.int32), 0
    first = np.zeros(0, bool)  # of each n-gram whether it is the likeliest after its context
    for n, table in enumerate(orders, 1):
        longer = orders[n] if n < len(orders) else None
        reached, next_state = np.empty(len(table) if longer is not None else 0, np.int32), bounds[n]
        first_longer = np.zeros(0 if longer is None else len(longer), bool)
        for at, children in _blocks(len(table), longer, max(workspace.room() // _NGRAM, 1)):
            filters, extended = np.zeros(at.stop - at.start, np.uint64), np.zeros(at.stop - at.start, bool)
            if longer is not None:
                _read_children(longer, at, children, filters, extended, first_longer[children])
            kept = read_rows(table.kept, at.start, at.stop)
            backoffs = np.clip(read_rows(table.backoffs, at.start, at.stop), np.float32(-LARGEST), np.float32(LARGEST))
            is_state = kept & (extended | ((backoffs != 0) & (longer is not None)))
            suffixes = below[read_rows(table.suffixes, at.start, at.stop)]
            found = np.where(is_state, next_state - 1 + np.cumsum(is_state, dtype=np.int32), suffixes)
            contexts.write(np.stack([_packed(backoffs, suffixes), filters], axis=1)[is_state])
            # Logarithms of 0 would make sums that are no numbers.
            packed = _packed(np.maximum(read_rows(table.logprobs, at.start, at.stop), np.float32(-LARGEST)), found)
            if n == 1:
                unigrams.append(packed)
            else:
                parents = below[read_rows(table.contexts, at.start, at.stop)].astype(np.uint64)
                words = table.last_words(at.start, at.stop).astype(np.uint64)
                likeliest.write(np.stack([parents, packed, words], axis=1)[first[at]])
                others = kept & ~first[at]
                keys = (parents << np.uint64(32) | words)[others]
                slots.add(kernels.lm_homes(keys, size), {"key": keys, "entry": packed[others]})
            if longer is not None:
                reached[at] = found
            next_state += int(np.count_nonzero(is_state))
            done += at.stop - at.start
            progress_callback(0.5 * done / rows)
        below, first = reached, first_longer
        bounds.append(next_state)
    return LanguageModel(
        vocab,
        slots.fill(["key", "entry"], np.uint64, free=0, progress_callback=within(progress_callback, 0.5, 1)),
        _states(contexts.finish(), likeliest.finish(), workspace),
        np.concatenate(unigrams),
        np.array(bounds[:-1]),
        np.empty(0, np.int64),
        np.empty(0, np.int32),
    )


def _less_likely(table: LinkedNGrams) -> int:
    """Count the n-grams that are not the likeliest after their context."""
    count, last = 0, np.int32(-1)
    for first in range(0, len(table), _ROWS_AT_ONCE):
        kept = read_rows(table.kept, first, first + _ROWS_AT_ONCE)
        contexts = read_rows(table.contexts, first, first + _ROWS_AT_ONCE)[kept]
        count += int(np.count_nonzero(np.diff(contexts, prepend=last) == 0))
        last = contexts[-1] if len(contexts) else last
    return count


def _states(contexts: NDArray[np.uint64], likeliest: NDArray[np.uint64], workspace: Workspace) -> NDArray[np.uint64]:
    """Join what is known of states, context and filter, with their likeliest words: state, entry and word, by state."""
    states = ArrayBuilder(workspace, "lm-states", np.uint64, len(contexts), 4)
    size, done = max(workspace.room() // _NGRAM, 1), 0
    for first in range(0, len(contexts), size):
        part = read_rows(contexts, first, first + size)
        rows = np.zeros((len(part), 4), np.uint64)
        rows[:, CONTEXT], rows[:, FILTER], rows[:, WORD] = part[:, 0], part[:, 1], NO_WORD
        words = read_rows(likeliest, done, done + len(rows))
        words = words[words[:, 0] < first + len(rows)]
        at = words[:, 0].astype(np.int64) - first
        rows[at, LIKELIEST], rows[at, WORD] = words[:, 1], words[:, 2]
        states.write(rows)
        done += len(words)
    return states.finish()


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


def _read_children(
    longer: LinkedNGrams,
    at: slice,
    children: slice,
    filters: NDArray[np.uint64],
    extended: NDArray[np.bool_],
    first: NDArray[np.bool_],
) -> None:
    """Tell of contexts whether anything that is kept follows, and of children whether they are the likeliest of theirs.

    The filters are of the other words.
    """
    kept = np.flatnonzero(read_rows(longer.kept, children.start, children.stop))
    contexts = read_rows(longer.contexts, children.start, children.stop)[kept] - at.start
    if len(contexts) == 0:
        return
    begins = np.flatnonzero(np.diff(contexts, prepend=np.int32(-1)))
    extended[contexts[begins]] = True
    logs = np.maximum(read_rows(longer.logprobs, children.start, children.stop)[kept], np.float32(-LARGEST))
    most = np.repeat(np.maximum.reduceat(logs, begins), np.diff(begins, append=len(contexts)))
    best = np.flatnonzero(logs == most)
    best = best[np.diff(contexts[best], prepend=np.int32(-1)) > 0]
    first[kept[best]] = True
    words = longer.last_words(children.start, children.stop)[kept]
    bits = np.uint64(1) << (words.astype(np.uint32) * np.uint32(0x9E3779B1) >> np.uint32(26)).astype(np.uint64)
    bits[best] = 0
    filters[contexts[begins]] = np.bitwise_or.reduceat(bits, begins)


def _packed(logarithms: NDArray[np.float32], states: NDArray[np.int32]) -> NDArray[np.uint64]:
    entries = np.empty(len(states), ENTRY)
    entries["log10"], entries["state"] = logarithms, states
    return entries.view(np.uint64)
