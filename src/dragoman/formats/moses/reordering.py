"""Moses' lexicalised reordering tables: `source ||| target ||| probabilities`, one phrase pair per line."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Vocab
from dragoman.core.errors import UsageError
from dragoman.core.files import PathLike
from dragoman.core.phrases import PairColumns, PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.moses.table_lines import read_table_lines, write_table_lines
from dragoman.formats.pair_lines import first_of_each_pair


@dataclass(frozen=True, eq=False)
class ReorderingTable(PairColumns):
    """The phrase pairs of a reordering table.

    An msd-bidirectional-fe table has the six columns of `REORDERING_SCORES`; other types have other numbers.
    """


def read_reordering(path: PathLike, *, runtime: Runtime = Runtime()) -> ReorderingTable:
    """Read a reordering table, compressed or not; the first of repeated pairs is kept."""
    table = read_table_lines(path, source_vocab=None, target_vocab=None, extras=False, runtime=runtime)
    if len(table.scores) == 0:
        runtime.warn(f"{path}: the reordering table is empty")
    source_ids, target_ids, scores = table.source_ids, table.target_ids, table.scores
    rows, repeated = first_of_each_pair(source_ids, target_ids)
    if repeated:
        runtime.warn(f"{path}: {repeated} phrase pairs occur more than once; the first of each is kept")
    if rows is not None:
        source_ids, target_ids, scores = source_ids[rows], target_ids[rows], scores[rows]
    return ReorderingTable(
        table.source_vocab, table.target_vocab, table.sources, table.targets, source_ids, target_ids, scores
    )


def attach_reordering(
    pairs: PhrasePairs, table: ReorderingTable, name: str, *, runtime: Runtime = Runtime()
) -> PhrasePairs:
    """Join a reordering table to phrase pairs under `name`.

    Pairs that it lacks get probability 1: as in Moses, their score is log 1 = 0.
    """
    our_sources, their_sources = _common_numbers(pairs.sources, pairs.source_vocab, table.sources, table.source_vocab)
    our_targets, their_targets = _common_numbers(pairs.targets, pairs.target_vocab, table.targets, table.target_vocab)
    wanted = _keys(our_sources[pairs.source_ids], our_targets[pairs.target_ids])
    given = _keys(their_sources[table.source_ids], their_targets[table.target_ids])
    order = np.argsort(given, kind="stable")
    at = np.minimum(np.searchsorted(given[order], wanted), max(len(given) - 1, 0))
    scores = np.ones((len(pairs), table.scores.shape[1]), np.float32)
    if len(given):
        rows = order[at]
        found = given[rows] == wanted
        scores[found] = table.scores[rows[found]]
        missing = len(pairs) - int(np.sum(found))
    else:
        missing = len(pairs)
    if missing:
        runtime.warn(f"{missing} of {len(pairs)} phrase pairs are not in the reordering table; they score 0 there")
    return replace(pairs, reordering={**pairs.reordering, name: scores})


def _common_numbers(
    ours: Ragged[np.int32], our_vocab: Vocab, theirs: Ragged[np.int32], their_vocab: Vocab
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the phrases of two lists so that equal phrases have equal numbers."""
    word_ids = their_vocab.map_to(our_vocab)
    # An unknown word must not be taken for the word <unk>, which has id 0 in every vocabulary.
    word_ids[1:][word_ids[1:] == 0] = -1
    phrases = Ragged.concatenate([ours, Ragged(word_ids[theirs.values], theirs.offsets)])
    numbers, _, _ = kernels.intern_sequences(phrases.values, phrases.offsets)
    return numbers[: len(ours)], numbers[len(ours) :]


def _keys(source_numbers: NDArray[np.int32], target_numbers: NDArray[np.int32]) -> NDArray[np.int64]:
    return source_numbers.astype(np.int64) << 32 | target_numbers


def write_reordering(path: PathLike, pairs: PhrasePairs, name: str, *, runtime: Runtime = Runtime()) -> None:
    """Write the reordering probabilities called `name`, in the order that Moses' programs need."""
    if name not in pairs.reordering:
        known = ", ".join(sorted(pairs.reordering)) or "none"
        raise UsageError(f"the phrase pairs have no reordering model '{name}'; they have {known}")
    write_table_lines(path, pairs, pairs.reordering[name], extras=False, runtime=runtime)
