"""Lexical translation probabilities from a word alignment, in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Bitext, Links, source_positions, target_positions
from dragoman.core.errors import DataError
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged

#: The empty word, which unaligned words are aligned to.
NULL = -1

#: Words of text per block: positions and keys of words take more memory than the words.
_WORDS_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class LexicalTables:
    """Word pairs, sorted by source and target word, with p(target | source) and p(source | target).

    Words without a link are paired with NULL.
    """

    source_words: NDArray[np.int32]
    target_words: NDArray[np.int32]
    target_given_source: NDArray[np.float64]
    source_given_target: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.source_words)

    def rounded(self, decimals: int) -> LexicalTables:
        """Round the probabilities, as in files with that many decimals (Moses writes seven)."""
        return replace(
            self,
            target_given_source=np.round(self.target_given_source, decimals),
            source_given_target=np.round(self.source_given_target, decimals),
        )

    def find(self, source: NDArray[np.int32], target: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the rows of word pairs."""
        keys, wanted = _keys(self.source_words, self.target_words), _keys(source, target)
        rows = np.searchsorted(keys, wanted)
        if len(wanted) and (not len(keys) or np.any(keys[np.minimum(rows, len(keys) - 1)] != wanted)):
            raise DataError(
                "the lexical tables lack a word pair that is aligned in the bitext",
                expected="tables made from the same bitext and word alignment",
            )
        return rows


def check_links(bitext: Bitext, links: Links) -> Links:
    """Return the links sorted by source and target position, each once; refuse links outside their sentence pair."""
    if len(links) != len(bitext):
        raise DataError(f"{len(links)} lines of word alignment", expected=f"{len(bitext)}, one for each sentence pair")
    rise = True
    for at in _blocks(bitext):
        rise &= _check_block(bitext.part(at), links.part(at), at.start)
    if rise:
        return links
    keys = np.unique(np.repeat(np.arange(len(links)), links.lengths) << 32 | links.values)
    offsets = np.searchsorted(keys, np.arange(len(links) + 1) << 32)
    return Ragged((keys & 0xFFFFFFFF).astype(np.uint32), offsets)


def _blocks(bitext: Bitext) -> Iterator[slice]:
    return bitext.blocks(_WORDS_AT_ONCE)


def _check_block(bitext: Bitext, links: Links, first: int) -> bool:
    """Return True if the links of each pair are sorted; refuse links outside. Pairs are numbered from `first`."""
    rows = np.repeat(np.arange(len(links)), links.lengths)
    source_lengths, target_lengths = bitext.source.sentences.lengths, bitext.target.sentences.lengths
    outside = (source_positions(links) >= source_lengths[rows]) | (target_positions(links) >= target_lengths[rows])
    if outside.any():
        at = int(np.argmax(outside))
        row, link = int(rows[at]), int(links.values[at])
        raise DataError(
            f"line {first + row + 1} has the link {link >> 16}-{link & 0xFFFF} in a pair of {source_lengths[row]} "
            f"source and {target_lengths[row]} target words",
            line=first + row + 1,
            expected="positions inside the sentences, from 0",
        )
    keys = rows << 32 | links.values
    return bool(np.all(keys[1:] > keys[:-1]))


def lexical_tables(
    bitext: Bitext, links: Links, progress_callback: ProgressCallback = lambda done: None
) -> LexicalTables:
    """Count aligned words, and unaligned words as aligned to NULL; return relative frequencies in both directions.

    >>> from dragoman.core.corpus import Corpus
    >>> from dragoman.core.corpus import links_of
    >>> bitext = Bitext(Corpus.from_lines(["la maison", "la"]), Corpus.from_lines(["the house", "it"]))
    >>> tables = lexical_tables(bitext, links_of([[(0, 0), (1, 1)], [(0, 0)]]))
    >>> tables.target_given_source.tolist(), tables.source_given_target.tolist()
    ([0.5, 0.5, 1.0], [1.0, 1.0, 1.0])
    """
    links = check_links(bitext, links)
    keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    blocks: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for at in _blocks(bitext):
        blocks.append(np.unique(_keys(*linked_words(bitext.part(at), links.part(at))), return_counts=True))
        # Merge only when blocks have grown, so that each pair is merged a few times only.
        if at.stop == len(bitext) or sum(len(found) for found, _ in blocks) > len(keys):
            keys, counts = _together([(keys, counts), *blocks])
            blocks = []
        progress_callback(at.stop / len(bitext))
    source_words = ((keys >> 32) - 1).astype(np.int32)
    target_words = ((keys & 0xFFFFFFFF) - 1).astype(np.int32)
    return LexicalTables(
        source_words,
        target_words,
        counts / np.bincount(source_words + 1, counts)[source_words + 1],
        counts / np.bincount(target_words + 1, counts)[target_words + 1],
    )


def _together(
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys of lists with counts, and the sums of their counts."""
    keys, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    found, row = np.unique(keys, return_inverse=True)
    return found, np.bincount(row, counts).astype(np.int64)


def linked_words(bitext: Bitext, links: Links) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the two words of every link, then NULL and each unaligned target word, then the same for source words."""
    source, target = corpus_positions(bitext, links)
    source_words, target_words = bitext.source.sentences.values, bitext.target.sentences.values
    alone = target_words[np.bincount(target, minlength=len(target_words)) == 0]
    lonely = source_words[np.bincount(source, minlength=len(source_words)) == 0]
    return (
        np.concatenate([source_words[source], np.full(len(alone), NULL, np.int32), lonely]),
        np.concatenate([target_words[target], alone, np.full(len(lonely), NULL, np.int32)]),
    )


def corpus_positions(bitext: Bitext, links: Links) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of every link among all running words of either side."""
    return (
        np.repeat(bitext.source.sentences.offsets[:-1], links.lengths) + source_positions(links),
        np.repeat(bitext.target.sentences.offsets[:-1], links.lengths) + target_positions(links),
    )


def word_weights(
    bitext: Bitext,
    links: Links,
    tables: LexicalTables,
    progress_callback: ProgressCallback = lambda done: None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lexical weight of every running word (Koehn, Och & Marcu 2003), source and target side.

    The weight of a word is the mean of its translation probabilities over its links, or its probability with NULL if it
    has none. A consistent phrase pair contains all links of its words, so its lexical weight is the product of theirs.
    """
    weights = np.empty(bitext.source.words), np.empty(bitext.target.words)
    for at in _blocks(bitext):
        part = _block_weights(bitext.part(at), links.part(at), tables)
        for side, corpus, values in zip(weights, (bitext.source, bitext.target), part, strict=True):
            side[corpus.sentences.offsets[at.start] : corpus.sentences.offsets[at.stop]] = values
        progress_callback(at.stop / len(bitext))
    return weights


def _block_weights(
    bitext: Bitext, links: Links, tables: LexicalTables
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    source, target = corpus_positions(bitext, links)
    words = linked_words(bitext, links)
    rows = tables.find(*words)
    unaligned_targets = np.count_nonzero(words[0] == NULL)
    linked, target_null, source_null = np.split(rows, [len(source), len(source) + unaligned_targets])
    return (
        _mean(source, tables.source_given_target[linked], tables.source_given_target[source_null], bitext.source.words),
        _mean(target, tables.target_given_source[linked], tables.target_given_source[target_null], bitext.target.words),
    )


def _mean(
    positions: NDArray[np.int64], values: NDArray[np.float64], null_values: NDArray[np.float64], words: int
) -> NDArray[np.float64]:
    counts = np.bincount(positions, minlength=words)
    weights = np.bincount(positions, values, minlength=words) / np.maximum(counts, 1)
    weights[counts == 0] = null_values
    return weights


def _keys(source: NDArray[np.int32], target: NDArray[np.int32]) -> NDArray[np.int64]:
    return (source.astype(np.int64) + 1) << 32 | (target.astype(np.int64) + 1)
