"""What the compiled kernels take and give. One block for each C++ file; arrays must be C-contiguous."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]
_U8 = NDArray[np.uint8]
_U64 = NDArray[np.uint64]
_F32 = NDArray[np.float32]
_Progress = Callable[[float], None] | None

# text.cpp
def word_index(blob: _U8, offsets: _I64) -> _I32:
    """Hash index of a word list."""

def intern_lines(text: _U8, blob: _U8, offsets: _I64) -> tuple[_I32, _I64, _U8, _I64, _I32]:
    """Words of text as ids, growing the word list: ids, line offsets, and the new list's blob, offsets, index."""

def lookup_lines(text: _U8, blob: _U8, offsets: _I64, index: _I32) -> tuple[_I32, _I64]:
    """Words of text as ids of a fixed word list (0 where unknown), and line offsets."""

def join_lines(ids: _I32, lines: _I64, blob: _U8, offsets: _I64) -> _U8:
    """Ids as text: words separated by spaces, lines ended by newlines."""

# sequences.cpp
def intern_sequences(words: _I32, offsets: _I64) -> tuple[_I32, _I32, _I64]:
    """Number the distinct rows of a ragged array: id of each row; the distinct rows' values and offsets."""

def sequence_index(words: _I32, offsets: _I64) -> _I32:
    """Hash index of distinct rows."""

def match_spans(
    tokens: _I32,
    lines: _I64,
    max_length: int,
    words: _I32,
    offsets: _I64,
    slots: _I32,
    threads: int = 1,
    progress: _Progress = None,
) -> _I32:
    """For every position of every line (row) and every length (column, from 1) the id of the indexed row, or -1."""
# ngram_counts.cpp
def rank_pairs(first: _I32, second: _I32, threads: int) -> tuple[_I32, _I64, _I64]:
    """Number the distinct pairs (first[i], second[i]) in sorted order, none negative: id of each pair; for each id the
    first position at which it occurs, and how often it does."""

# lm_index.cpp
def lm_index(
    words: _I32, logprobs: _F32, backoffs: _F32, bounds: _I64, vocab_size: int, missing_unknown: float
) -> tuple[_U64, _U64, _U64, _I64, _I64, _I32, int]:
    """The automaton of language_model.hpp for n-grams: rows [bounds[n - 1], bounds[n]) have order n, their words stand
    one after the other in `words`; at least order 1, words below `vocab_size`. Gives slots, states, unigrams, bounds
    of the states of each length, slots and words that the n-grams only imply, and the row of an n-gram that stands
    there twice, or -1 (if not -1, the arrays are empty)."""

# lm_query.cpp
def lm_score(
    words: _I32,
    offsets: _I64,
    bos: bool,
    eos: bool,
    slots: _U64,
    states: _U64,
    unigrams: _U64,
    bounds: _I64,
    with_lengths: bool,
    threads: int,
    progress: _Progress,
) -> tuple[_F32, NDArray[np.uint8]]:
    """Base-10 log-probability of each word (and, with `eos`, of each sentence's end) after those before it; with
    `with_lengths` also the length of the n-gram that gave it."""
