"""The lines that Moses' phrase tables and reordering tables have in common: `source ||| target ||| scores`."""

from __future__ import annotations

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

_ROWS_A_BLOCK = 1 << 16

# In step with TableFault in kernels/text/table.cpp.
_FAULTS = {
    1: ("found {}, which has fewer than three fields", "source ||| target ||| scores"),
    2: ("found {}, which has more than three fields", "source ||| target ||| scores"),
    3: ("the source phrase is empty in {}", "at least one word"),
    4: ("the target phrase is empty in {}", "at least one word, for a phrase cannot be translated by nothing"),
    5: ("the phrase {} has more than 255 words", "at most 255"),
    6: ("found {} among the numbers", "a number"),
    7: ("found {} among the numbers", "a finite number that is not negative"),
    8: ("found no scores", "at least one, between the second and the third |||"),
    9: ("found the scores {}", "as many as on line 1"),
    10: ("found {} in the alignment", "points such as 0-1"),
    11: ("the alignment point {} lies outside its phrases", "positions below the phrases' lengths, from 0"),
}


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
    path: PathLike, *, source_vocab: Vocab | None, target_vocab: Vocab | None, extras: bool, progress: Progress
) -> TableLines:
    """Read a table, compressed or not, adding its words to the vocabularies."""
    source_vocab, target_vocab = source_vocab or Vocab.of(), target_vocab or Vocab.of()
    sources, targets = _Phrases(), _Phrases()
    columns = further_lines = 0
    scores, counts, points = [], [], [Ragged(np.empty(0, np.uint16), np.zeros(1, np.int64))]
    with progress.stage(f"reading {path}"):
        for chunk in read_chunks(path):
            source_phrases, target_phrases, numbers, links, occurrences, source_words, target_words, further, fault = (
                kernels.parse_table(
                    np.frombuffer(chunk.data, np.uint8),
                    source_vocab.blob,
                    source_vocab.offsets,
                    target_vocab.blob,
                    target_vocab.offsets,
                    columns,
                    extras,
                )
            )
            check_fault(fault, chunk.data, _FAULTS, path, chunk.first_line)
            source_vocab, target_vocab = Vocab(*source_words), Vocab(*target_words)
            sources.add(*source_phrases)
            targets.add(*target_phrases)
            columns = numbers.shape[1]
            scores.append(numbers)
            points.append(Ragged(*links))
            counts.append(occurrences)
            further_lines += further
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
        source_ranks, target_ranks = kernels.table_ranks(*sources), kernels.table_ranks(*targets)
        rows = np.lexsort((target_ranks[target_ids], source_ranks[source_ids]))
        with open_output(path) as stream:
            for start in range(0, len(rows), _ROWS_A_BLOCK):
                block = kernels.format_table(
                    rows[start : start + _ROWS_A_BLOCK],
                    source_ids,
                    *sources,
                    target_ids,
                    *targets,
                    scores,
                    extras,
                    np.empty(0, np.uint16) if points is None else points.values,
                    np.empty(0, np.int64) if points is None else points.offsets,
                    np.empty((0, 3), np.float32) if counts is None else np.ascontiguousarray(counts),
                )
                stream.write(block.tobytes())
                done(min(1.0, (start + _ROWS_A_BLOCK) / len(rows)))


def _phrase_texts(
    path: PathLike, phrases: Ragged[np.int32], vocab: Vocab
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    text = kernels.join_lines(phrases.values, phrases.offsets, vocab.blob, vocab.offsets)
    if b"|||" in text.tobytes():
        raise DataError("a phrase to write holds '|||', which separates the fields of a table", path=path)
    ends = np.flatnonzero(text == ord("\n"))
    # Row i of the text without its newline: the newlines are squeezed out, so that offsets are enough.
    return text[text != ord("\n")], np.concatenate([np.zeros(1, np.int64), ends - np.arange(len(ends))])
