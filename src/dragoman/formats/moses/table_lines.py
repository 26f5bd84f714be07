"""Common lines of Moses' phrase, rule and reordering tables: `source ||| target ||| scores`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_chunks
from dragoman.core.phrases import PairColumns, PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import FAULTS, check_fault
from dragoman.formats.pair_lines import Ends, Phrases, points_of, write_pair_lines


@dataclass(frozen=True, eq=False)
class TableLines(PairColumns):
    """The lines of a table, with the distinct phrases of each side.

    `points` and `counts` are as in `PhrasePairs`, with a row of NaN for a line without three counts; `further_lines` is
    the number of lines with further fields.
    """

    points: Ragged[np.uint16]
    counts: NDArray[np.float32]
    further_lines: int


def read_table_lines(
    path: PathLike,
    *,
    source_vocab: Vocab | None,
    target_vocab: Vocab | None,
    extras: bool = True,
    rules: bool = False,
    runtime: Runtime = Runtime(),
) -> TableLines:
    """Read a table, compressed or not, adding its words to the vocabularies.

    With `extras` there can be more than three fields; with `rules` the phrases are the sides of rules.
    """
    source_vocab, target_vocab = source_vocab or Vocab.of(), target_vocab or Vocab.of()
    sources, targets = Phrases(), Phrases()
    columns = further_lines = 0
    ends = Ends(path)
    scores, counts, points = [], [], [Ragged(np.empty(0, np.uint16), np.zeros(1, np.int64))]
    with runtime.stage(f"reading {path}"):
        for chunk in read_chunks(path):
            text = np.frombuffer(chunk.data, np.uint8)
            words = source_vocab.for_kernels(), target_vocab.for_kernels()
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
            if rules:
                ends.add(chunk)
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


def write_table_lines(
    path: PathLike, pairs: PhrasePairs, scores: NDArray[np.float32], *, extras: bool, runtime: Runtime = Runtime()
) -> None:
    """Write phrase pairs with the given scores, and with `extras` also their alignments and counts.

    The lines are in the order of `LC_ALL=C sort`, which programs that index tables rely on.
    """
    if not (np.isfinite(scores).all() and (scores >= 0).all()):
        raise DataError("the scores to write hold a number that is not finite or negative", path=path)
    points = points_of(pairs.alignments)
    counts = np.empty((0, 3), np.float32) if pairs.counts is None else np.ascontiguousarray(pairs.counts)
    scores = np.ascontiguousarray(scores)

    def lines(rows: NDArray[np.int64], texts: kernels.PairTexts) -> NDArray[np.uint8]:
        return kernels.format_table(rows, texts, scores, extras, points, counts)

    write_pair_lines(path, pairs, lines, runtime=runtime)
