"""Counting n-grams, each order from the one below it; in blocks of text that are merged if memory is limited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import BOS, EOS
from dragoman.core.errors import DataError
from dragoman.core.progress import ProgressCallback, within
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.spill import KeyLists, SpilledArrays
from dragoman.core.store import Arrays, ArrayWriter, load_arrays
from dragoman.core.workspace import Workspace

#: Memory for counting a word of the text, and for merging an n-gram, in bytes.
_WORD, _NGRAM = 160, 150

#: Rows of n-grams have 31 bits.
_MOST = (1 << 31) - 1

#: Share of the time of counting in blocks.
_SHARE_OF_BLOCKS = 0.7


@dataclass(frozen=True, eq=False)
class NGramCounts:
    """The distinct n-grams of one order, sorted by their ids, with their numbers of occurrences.

    `contexts` and `suffixes` are the rows of the n-grams without their last and without their first word in the
    table of the order below. Unigrams have one row for each word of the vocabulary, with zeros in both.
    """

    words: NDArray[np.int32]
    contexts: NDArray[np.int32]
    suffixes: NDArray[np.int32]
    occurrences: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.words)


def count_ngrams(
    sentences: Ragged[np.int32],
    vocab_size: int,
    order: int,
    *,
    progress_callback: ProgressCallback = lambda done: None,
    runtime: Runtime = Runtime(),
) -> list[NGramCounts]:
    """Count the n-grams of order 1, 2, … `order` of sentences that begin with `<s>` and end with `</s>`.

    If the memory of the workspace does not suffice, or there are several workers, they are counted in blocks of
    sentences and mapped from disk.

    >>> unigrams, bigrams = count_ngrams(Ragged.of([[3, 3]], np.int32), 4, 2)
    >>> unigrams.occurrences.tolist(), bigrams.words.tolist(), bigrams.occurrences.tolist()
    ([0, 0, 1, 2], [[1, 3], [3, 2], [3, 3]], [1, 1, 1])
    """
    workspace, together = runtime.workspace, runtime.parts_at_once
    words = len(sentences.values) + 2 * len(sentences)
    if together == 1 and words < _MOST and words * _WORD <= workspace.room():
        return _counted(sentences, vocab_size, order, progress_callback, runtime)
    merging, done = _Merging(workspace, vocab_size), 0
    size = min(workspace.room() // (2 * _WORD * together), _MOST // 4, -(-len(sentences.values) // together))
    blocks = (sentences.part(at) for at in sentences.blocks(max(size, 1)))
    for number, unigrams, longer in runtime.map_parts(CountNGrams(vocab_size, order), blocks):
        merging.add(unigrams, longer)
        done += number
        progress_callback(_SHARE_OF_BLOCKS * done / len(sentences))
    return merging.merged(order, within(progress_callback, _SHARE_OF_BLOCKS, 1))


@dataclass(frozen=True)
class CountNGrams:
    """Counting of the n-grams of a block of sentences."""

    vocab_size: int
    order: int

    def __call__(self, part: Ragged[np.int32], runtime: Runtime) -> tuple[int, NDArray[np.int64], Arrays]:
        """Return the number of sentences, the counts of words, and what a merge needs of higher orders."""
        words, *tables = _counted(part, self.vocab_size, self.order, lambda done: None, runtime)
        arrays: Arrays = {}
        for n, table in enumerate(tables, 2):
            columns: Sequence[NDArray[Any]] = table.contexts, table.words[:, -1], table.suffixes, table.occurrences
            arrays |= {f"{name}-{n}": column for name, column in zip(_COLUMNS, columns, strict=True)}
        return len(part), words.occurrences, arrays


def _counted(
    sentences: Ragged[np.int32], vocab_size: int, order: int, progress_callback: ProgressCallback, runtime: Runtime
) -> list[NGramCounts]:
    """Count n-grams in memory."""
    text, positions = _with_markers(sentences)
    none = np.zeros(vocab_size, np.int32)
    words = np.arange(vocab_size, dtype=np.int32)[:, None]
    found = [NGramCounts(words, none, none, np.bincount(text[positions], minlength=vocab_size))]

    # rows[i]: the row of the n-gram that ends at position i; `positions`: where an n-gram within its sentence ends.
    rows = text
    for n in range(1, order):
        progress_callback(n / order)
        contexts, last = rows[positions - 1], text[positions]
        ids, first, occurrences = kernels.rank_pairs(contexts, last, runtime.threads)
        contexts = contexts[first]
        words = np.concatenate([words[contexts], last[first, None]], axis=1)
        found.append(NGramCounts(words, contexts, rows[positions[first]], occurrences))
        rows = np.zeros(len(text), np.int32)
        rows[positions] = ids
        # A longer n-gram ends where one of this order ends at the word before: not at the first of the sentence.
        reachable = np.zeros(len(text) + 1, bool)
        reachable[positions + 1] = True
        positions = positions[reachable[positions]]
    progress_callback(1)
    return found


def _with_markers(sentences: Ragged[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return all sentences with `<s>` and `</s>` in one array, and the positions that do not hold `<s>`."""
    lengths = sentences.lengths + 2
    starts = np.cumsum(lengths) - lengths
    text = np.empty(lengths.sum(), np.int32)
    is_word = np.ones(len(text), bool)
    is_word[starts] = is_word[starts + lengths - 1] = False
    text[is_word] = sentences.values
    text[starts], text[starts + lengths - 1] = BOS, EOS
    return text, np.flatnonzero(text != BOS)


class _Merging:
    """Merge of the n-grams of blocks of text, which are on disk, order by order.

    In each block they are sorted by context and last word; these are sorted keys if contexts are numbered as in the
    whole.
    """

    def __init__(self, workspace: Workspace, vocab_size: int):
        self._workspace, self._blocks = workspace, list[SpilledArrays]()
        self._words = np.zeros(vocab_size, np.int64)

    def add(self, words: NDArray[np.int64], longer: Arrays) -> None:
        """Add the n-grams of a block."""
        self._words += words
        self._blocks.append(SpilledArrays(self._workspace, f"ngrams-{len(self._blocks)}", longer))

    def merged(self, order: int, progress_callback: ProgressCallback) -> list[NGramCounts]:
        """Merge all blocks, and remove them."""
        words = np.arange(len(self._words), dtype=np.int32)
        none = np.zeros(len(words), np.int32)
        tables = [NGramCounts(words[:, None], none, none, self._words)]
        # For each block the rows of its n-grams of the order below among all; those of words are the same everywhere.
        rows: list[NDArray[Any]] = [words] * len(self._blocks)
        for n in range(2, order + 1):
            lists = KeyLists(self._workspace, f"order-{n}", (self._keys(i, n, rows[i]) for i in range(len(rows))))
            tables.append(
                self._written(
                    n, lists, rows, tables[-1].words, within(progress_callback, (n - 2) / order, (n - 1) / order)
                )
            )
            rows = [lists.numbers(i) for i in range(len(rows))]
            lists.discard()
        for block in self._blocks:
            block.discard()
        return tables

    def _keys(self, block: int, n: int, rows: NDArray[Any]) -> NDArray[np.int64]:
        kept = self._blocks[block]
        contexts: NDArray[np.int64] = rows[kept.load_one(f"contexts-{n}")].astype(np.int64)
        return np.asarray(contexts << 32 | kept.load_one(f"last-{n}"))

    def _written(
        self,
        n: int,
        lists: KeyLists,
        rows: list[NDArray[Any]],
        shorter: NDArray[np.int32],
        progress_callback: ProgressCallback,
    ) -> NGramCounts:
        """Write the table of an order; `shorter` are the words of the one below."""
        folder: Path = self._workspace.folder / f"counts-{n}"
        with self._workspace.writing():
            writers = {
                "words": ArrayWriter(folder / "words.npy", np.int32, n),
                "contexts": ArrayWriter(folder / "contexts.npy", np.int32),
                "suffixes": ArrayWriter(folder / "suffixes.npy", np.int32),
                "occurrences": ArrayWriter(folder / "occurrences.npy", np.int64),
            }
        done, total = 0, sum(len(block.map(f"last-{n}")) for block in self._blocks)
        for step in lists.merge(self._workspace.room() // _NGRAM):
            contexts, last = step.keys >> 32, (step.keys & 0xFFFFFFFF).astype(np.int32)
            suffixes = [rows[i][self._blocks[i].rows(f"suffixes-{n}", a, b)] for i, a, b in step.places]
            times = [self._blocks[i].rows(f"occurrences-{n}", a, b) for i, a, b in step.places]
            columns: dict[str, NDArray[Any]] = {
                "words": np.concatenate([shorter[contexts], last[:, None]], axis=1),
                "contexts": contexts,
                "suffixes": np.concatenate(suffixes)[step.first()],
                "occurrences": np.bincount(step.rows, np.concatenate(times)),
            }
            with self._workspace.writing():
                for name, column in columns.items():
                    writers[name].write(column)
            done += len(step.rows)
            progress_callback(done / total)
        with self._workspace.writing():
            for writer in writers.values():
                writer.finish()
        arrays: dict[str, Any] = load_arrays(folder)
        if len(arrays["words"]) > _MOST:
            raise DataError(
                f"{len(arrays['words']):,} n-grams of order {n}", expected="fewer than 2**31: a lower order"
            )
        return NGramCounts(**arrays)


_COLUMNS = ("contexts", "last", "suffixes", "occurrences")
