"""Common parts of the files of phrase pairs and rules: distinct phrases, and sorted lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import Chunk, PathLike, open_output
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime

_ROWS_A_BLOCK = 1 << 16


class Phrases:
    """Phrases of one side, chunk by chunk; only the distinct ones of each chunk are kept."""

    def __init__(self) -> None:
        self._ids: list[NDArray[np.int32]] = []
        self._distinct = [Ragged(np.empty(0, np.int32), np.zeros(1, np.int64))]

    def add(self, words: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Add the phrases of a chunk."""
        base = sum(len(part) for part in self._distinct)
        ids, distinct_words, distinct_offsets = kernels.intern_sequences(words, offsets)
        self._ids.append(ids + np.int32(base))
        self._distinct.append(Ragged(distinct_words, distinct_offsets))

    def finish(self) -> tuple[Ragged[np.int32], NDArray[np.int32]]:
        """Return the distinct phrases, in order of first occurrence, and the index of each phrase among them."""
        parts = Ragged.concatenate(self._distinct)
        numbers, words, offsets = kernels.intern_sequences(parts.values, parts.offsets)
        return Ragged(words, offsets), numbers[np.concatenate([np.empty(0, np.int32), *self._ids])]


class Ends:
    """The first and the last line of a file, which show whether it is truncated."""

    def __init__(self, path: PathLike) -> None:
        self._path = path
        self._fields = 0

    def add(self, chunk: Chunk) -> None:
        """Check the next chunk; refuse a last line without newline that has fewer fields than the first line."""
        self._fields = self._fields or chunk.data[: chunk.data.find(b"\n")].count(b"|||") + 1
        last = chunk.data[:-1].rpartition(b"\n")[2].count(b"|||") + 1
        if not chunk.complete and last < self._fields:
            raise DataError(
                f"the last line has {last} fields: the file may be cut off",
                path=self._path,
                line=chunk.first_line + chunk.data.count(b"\n") - 1,
                expected=f"{self._fields}, as on line 1",
            )


def first_of_each_pair(
    source_ids: NDArray[np.int32], target_ids: NDArray[np.int32]
) -> tuple[NDArray[np.int64] | None, int]:
    """Return rows that group pairs by source and drop repeated pairs, and the number of pairs dropped.

    Source ids must increase in order of first occurrence. The rows are None if nothing changes.
    """
    keys = source_ids.astype(np.int64) << 32 | target_ids
    first = np.sort(np.unique(keys, return_index=True)[1])
    together = bool(np.all(np.diff(source_ids) >= 0))
    repeated = len(keys) - len(first)
    if together and not repeated:
        return None, 0
    return first[np.argsort(source_ids[first], kind="stable")], repeated


def write_pair_lines(
    path: PathLike,
    pairs: PhrasePairs,
    lines: Callable[[NDArray[np.int64], kernels.PairTexts], NDArray[np.uint8]],
    *,
    runtime: Runtime = Runtime(),
) -> None:
    """Write pairs in the order of `LC_ALL=C sort`, which programs that index tables rely on.

    `lines` returns the text of some rows, which must begin with the phrases, followed by ` |||`.
    """
    with runtime.stage(f"writing {path}") as progress_callback:
        sources = _phrase_texts(path, pairs.sources, pairs.source_vocab)
        targets = _phrase_texts(path, pairs.targets, pairs.target_vocab)
        source_ids, target_ids = np.ascontiguousarray(pairs.source_ids), np.ascontiguousarray(pairs.target_ids)
        texts = kernels.PairTexts(source_ids=source_ids, sources=sources, target_ids=target_ids, targets=targets)
        ranks = (kernels.table_ranks(targets)[target_ids], kernels.table_ranks(sources)[source_ids])
        rows = _sorted_rows(ranks, lambda some: lines(some, texts).tobytes())
        with open_output(path) as stream:
            for start in range(0, len(rows), _ROWS_A_BLOCK):
                stream.write(lines(rows[start : start + _ROWS_A_BLOCK], texts).tobytes())
                progress_callback(min(1.0, (start + _ROWS_A_BLOCK) / len(rows)))


def _sorted_rows(
    ranks: Sequence[NDArray[np.integer]], lines: Callable[[NDArray[np.int64]], bytes]
) -> NDArray[np.int64]:
    """Sort rows by ranks (the last is the first key), and rules that differ only in links by their lines."""
    rows = np.lexsort(ranks)
    same = np.all([np.diff(rank[rows]) == 0 for rank in ranks], axis=0)
    tied = rows[np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))] if same.any() else rows[:0]
    if not len(tied):
        return rows
    texts = lines(tied).split(b"\n")[:-1]
    by_line = np.zeros_like(rows)
    by_line[tied[sorted(range(len(texts)), key=texts.__getitem__)]] = np.arange(len(texts))
    return np.lexsort((by_line, *ranks))


def points_of(links: Ragged[np.uint16] | None) -> kernels.Points | None:
    """Return the links of pairs in the form that kernels take."""
    return None if links is None else kernels.Points(values=links.values, offsets=links.offsets)


def _phrase_texts(path: PathLike, phrases: Ragged[np.int32], vocab: Vocab) -> kernels.Texts:
    text = kernels.join_lines(phrases.for_kernels(), vocab.for_kernels())
    if b"|||" in text.tobytes():
        raise DataError("a phrase to write holds '|||', which separates the fields of a table", path=path)
    ends = np.flatnonzero(text == ord("\n"))
    # Newlines are removed, so that offsets are enough.
    offsets = np.concatenate([np.zeros(1, np.int64), ends - np.arange(len(ends))])
    return kernels.Texts(values=text[text != ord("\n")], offsets=offsets)
