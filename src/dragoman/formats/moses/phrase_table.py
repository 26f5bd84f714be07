"""Moses' phrase tables: `source ||| target ||| scores ||| alignment ||| counts ||| …`, one phrase pair per line."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.runtime import Runtime
from dragoman.formats.moses.table_lines import TableLines, read_table_lines, write_table_lines
from dragoman.formats.pair_lines import first_of_each_pair

#: The constant phrase penalty of old tables: e.
PENALTY_SCORE = 2.718


def read_phrase_table(
    path: PathLike,
    *,
    source_vocab: Vocab | None = None,
    target_vocab: Vocab | None = None,
    score_names: Sequence[str] | None = None,
    runtime: Runtime = Runtime(),
) -> PhrasePairs:
    """Read a phrase table, compressed or not; its words are added to the vocabularies (new ones by default).

    Pairs are grouped by source phrase, and the first of repeated pairs is kept. A constant fifth score of 2.718, the
    phrase penalty of old tables, is dropped, because every phrase-based model has that feature.
    """
    table = read_table_lines(path, source_vocab=source_vocab, target_vocab=target_vocab, extras=True, runtime=runtime)
    return pairs_of_table(path, table, score_names, what="phrase", runtime=runtime)


def write_phrase_table(path: PathLike, pairs: PhrasePairs, *, runtime: Runtime = Runtime()) -> None:
    """Write a phrase table, compressed by the ending of its name, in the order that Moses' programs need."""
    write_table_lines(path, pairs, pairs.scores, extras=True, runtime=runtime)


def pairs_of_table(
    path: PathLike,
    table: TableLines,
    score_names: Sequence[str] | None,
    *,
    what: Literal["phrase", "rule"],
    runtime: Runtime = Runtime(),
) -> PhrasePairs:
    """Convert the lines of a table to columns: each pair once, and scores with names; warn about what is left out."""
    scores = table.scores
    names = None if score_names is None else tuple(score_names)
    if _is_penalty_last(scores, names, {5} if what == "phrase" else range(2, scores.shape[1] + 1)):
        scores = np.ascontiguousarray(scores[:, :-1])
        which = {"phrase": "fifth", "rule": "last"}[what]
        runtime.note(f"{path}: dropped the {which} score, a {what} penalty of {PENALTY_SCORE} throughout")
    if what == "rule":
        _refuse_above_one(path, scores)
    if len(scores) == 0:
        runtime.warn(f"{path}: the {what} table is empty")
        scores = np.empty((0, len(names or PHRASE_SCORES)), np.float32)
    columns = scores.shape[1]
    names = names or (PHRASE_SCORES if columns == 4 else tuple(f"s{column}" for column in range(columns)))
    if len(names) != scores.shape[1]:
        raise DataError(f"found {scores.shape[1]} scores", path=path, line=1, expected=f"{len(names)}")
    if table.further_lines:
        runtime.warn(f"{path}: left out sparse scores or properties on {table.further_lines} lines")
    with_counts = ~np.isnan(table.counts[:, 0])
    if with_counts.any() and not with_counts.all():
        runtime.warn(f"{path}: left out the counts, for {np.sum(~with_counts)} lines do not have all three")
    pairs = PhrasePairs(
        table.source_vocab,
        table.target_vocab,
        table.sources,
        table.targets,
        table.source_ids,
        table.target_ids,
        scores,
        names,
        alignments=table.points if len(table.points.values) else None,
        counts=table.counts if len(table.counts) and with_counts.all() else None,
    )
    rows, repeated = first_of_each_pair(table.source_ids, table.target_ids)
    if repeated:
        kind = {"phrase": "phrase pairs", "rule": "rules"}[what]
        runtime.warn(f"{path}: {repeated} {kind} occur more than once; the first of each is kept")
    return pairs if rows is None else pairs.take(rows)


def _is_penalty_last(scores: NDArray[np.float32], names: tuple[str, ...] | None, of: Container[int]) -> bool:
    columns = scores.shape[1]
    if columns not in of or not (names is None or len(names) == columns - 1):
        return False
    return bool(np.all(np.abs(scores[:, -1] - PENALTY_SCORE) < 1e-3))


def _refuse_above_one(path: PathLike, scores: NDArray[np.float32]) -> None:
    rows, columns = np.nonzero(scores > 1)
    if len(rows):
        found = float(scores[rows[0], columns[0]])
        raise DataError(
            f"found {found:g} among the scores", path=path, line=int(rows[0]) + 1, expected="probabilities of at most 1"
        )
