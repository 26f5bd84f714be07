"""The lines that Moses' phrase, rule and reordering tables have in common: `source ||| target ||| scores`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output, read_chunks
from dragoman.core.phrases import PairColumns, PhrasePairs
from dragoman.core.progress import Progress
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab
from dragoman.formats.faults import check_fault
from dragoman.formats.table_faults import FAULTS

_ROWS_A_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class TableLines(PairColumns):
    """A table as it stands in its file, with the distinct phrases of each side listed once.

    `points` and `counts` are as in `PhrasePairs`, a row of NaN where a line has not three counts; `further_lines`
    is the number of lines with something in further fields.
    """

    points: Ragged[np.uint16]
    counts: NDArray[np.float32]
    further_lines: int


class _Phrases:
    """The phrases of one side, chunk by chunk; only distinct ones of each chunk are kept."""

    def __init__(self) -> None:
        self._ids: list[NDArray[np.int32]] = []
        self._distinct = [Ragged(np.empty(0, np.int32), np.zeros(1, np.int64))]

    def add(self, words: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        base = sum(len(part) for part in self._distinct)
        ids, distinct_words, distinct_offsets = kernels.intern_sequences(words, offsets)
        self._ids.append(ids + np.int32(base))
        self._distinct.append(Ragged(distinct_words, distinct_offsets))

    def finish(self) -> tuple[Ragged[np.int32], NDArray[np.int32]]:
        """Give the distinct phrases, in order of first occurrence, and the number of each phrase among them."""
        parts = Ragged.concatenate(self._distinct)
        numbers, words, offsets = kernels.intern_sequences(parts.values, parts.offsets)
        return Ragged(words, offsets), numbers[np.concatenate([np.empty(0, np.int32), *self._ids])]


def read_table_lines(
    path: PathLike,
    *,
    source_vocab: Vocab | None,
    target_vocab: Vocab | None,
    extras: bool = True,
    rules: bool = False,
    progress: Progress,
) -> TableLines:
    """Read a table, compressed or not, adding its words to the vocabularies.

    With `extras` there can be more fields than three; with `rules` the phrases are the two sides of rules.
    """
    source_vocab, target_vocab = source_vocab or Vocab.of(), target_vocab or Vocab.of()
    sources, targets = _Phrases(), _Phrases()
    columns = further_lines = lines = 0
    ends: list[bytes] = []
    scores, counts, points = [], [], [Ragged(np.empty(0, np.uint16), np.zeros(1, np.int64))]
    with progress.stage(f"reading {path}"):
        for chunk in read_chunks(path):
            text = np.frombuffer(chunk.data, np.uint8)
            words = (source_vocab.blob, source_vocab.offsets, target_vocab.blob, target_vocab.offsets)
            source_phrases, target_phrases, numbers, links, occurrences, source_words, target_words, further, fault = (
                kernels.parse_rules(text, *words, columns)
                if rules
                else kernels.parse_table(text, *words, columns, extras)
            )
            check_fault(fault, chunk.data, FAULTS, path, chunk.first_line)
            source_vocab, target_vocab = Vocab(*source_words), Vocab(*target_words)
            sources.add(*source_phrases)
            targets.add(*target_phrases)
            columns = numbers.shape[1]
            scores.append(numbers)
            points.append(Ragged(*links))
            counts.append(occurrences)
            further_lines += further
            lines += len(numbers)
            ends = [*(ends[:1] or [chunk.data[: chunk.data.find(b"\n")]]), chunk.data[:-1].rpartition(b"\n")[2]]
        if rules and ends:
            _refuse_cut(path, lines, *ends)
        distinct_sources, source_ids = sources.finish()
        distinct_targets, target_ids = targets.finish()
        return TableLines(
            source_vocab,
            target_vocab,
            distinct_sources,
            distinct_targets,
            source_ids,
            target_ids,
            np.concatenate([np.empty((0, columns), np.float32), *scores]),
            Ragged.concatenate(points),
            np.concatenate([np.empty((0, 3), np.float32), *counts]),
            further_lines,
        )


def _refuse_cut(path: PathLike, lines: int, first: bytes, last: bytes) -> None:
    """Refuse a last line that ends before the fields of the first do."""
    found, expected = (line.count(b"|||") + 1 for line in (last, first))
    if found < expected:
        raise DataError(
            f"the last line has {found} fields: the file may be cut off",
            path=path,
            line=lines,
            expected=f"{expected}, as on line 1",
        )


def first_of_each_pair(
    source_ids: NDArray[np.int32], target_ids: NDArray[np.int32]
) -> tuple[NDArray[np.int64] | None, int]:
    """Rows that bring the pairs of each source together and drop repeated pairs, and how many of those there were.

    Source ids must count up in order of first occurrence. The rows are None if all is in order as it is.
    """
    keys = source_ids.astype(np.int64) << 32 | target_ids
    first = np.sort(np.unique(keys, return_index=True)[1])
    together = bool(np.all(np.diff(source_ids) >= 0))
    repeated = len(keys) - len(first)
    if together and not repeated:
        return None, 0
    return first[np.argsort(source_ids[first], kind="stable")], repeated


def write_table_lines(
    path: PathLike, pairs: PhrasePairs, scores: NDArray[np.float32], *, extras: bool, progress: Progress
) -> None:
    """Write phrase pairs with the given scores, and with `extras` also their alignments and counts.

    The lines are in the order of `LC_ALL=C sort`, which programs that build indices over tables rely on.
    """
    if not (np.isfinite(scores).all() and (scores >= 0).all()):
        raise DataError("the scores to write hold a number that is not finite or negative", path=path)
    points, counts = pairs.alignments, pairs.counts
    source_ids, target_ids = np.ascontiguousarray(pairs.source_ids), np.ascontiguousarray(pairs.target_ids)
    scores = np.ascontiguousarray(scores)
    with progress.stage(f"writing {path}") as done:
        sources = _phrase_texts(path, pairs.sources, pairs.source_vocab)
        targets = _phrase_texts(path, pairs.targets, pairs.target_vocab)

        def lines(rows: NDArray[np.int64]) -> bytes:
            return kernels.format_table(
                rows,
                source_ids,
                *sources,
                target_ids,
                *targets,
                scores,
                extras,
                np.empty(0, np.uint16) if points is None else points.values,
                np.empty(0, np.int64) if points is None else points.offsets,
                np.empty((0, 3), np.float32) if counts is None else np.ascontiguousarray(counts),
            ).tobytes()

        ranks = (kernels.table_ranks(*targets)[target_ids], kernels.table_ranks(*sources)[source_ids])
        rows = _sorted_rows(ranks, lines)
        with open_output(path) as stream:
            for start in range(0, len(rows), _ROWS_A_BLOCK):
                stream.write(lines(rows[start : start + _ROWS_A_BLOCK]))
                done(min(1.0, (start + _ROWS_A_BLOCK) / len(rows)))


def _sorted_rows(
    ranks: Sequence[NDArray[np.integer]], lines: Callable[[NDArray[np.int64]], bytes]
) -> NDArray[np.int64]:
    """Sort rows by ranks, the last first, and where these are the same (rules that differ in links) by their lines."""
    rows = np.lexsort(ranks)
    same = np.all([np.diff(rank[rows]) == 0 for rank in ranks], axis=0)
    tied = rows[np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))] if same.any() else rows[:0]
    if not len(tied):
        return rows
    texts = lines(tied).split(b"\n")[:-1]
    by_line = np.zeros_like(rows)
    by_line[tied[sorted(range(len(texts)), key=texts.__getitem__)]] = np.arange(len(texts))
    return np.lexsort((by_line, *ranks))


def _phrase_texts(
    path: PathLike, phrases: Ragged[np.int32], vocab: Vocab
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    text = kernels.join_lines(phrases.values, phrases.offsets, vocab.blob, vocab.offsets)
    if b"|||" in text.tobytes():
        raise DataError("a phrase to write holds '|||', which separates the fields of a table", path=path)
    ends = np.flatnonzero(text == ord("\n"))
    # Row i of the text without its newline: the newlines are squeezed out, so that offsets are enough.
    return text[text != ord("\n")], np.concatenate([np.zeros(1, np.int64), ends - np.arange(len(ends))])
