"""What the compiled kernels take and give. One block for each C++ file; arrays must be C-contiguous."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]
_U8 = NDArray[np.uint8]
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

def intern_sequences(words: _I32, offsets: _I64) -> tuple[_I32, _I32, _I64]:
    """Number the distinct rows of a ragged array: id of each row; the distinct rows' values and offsets."""

# What a parser of lines says at the end: the kind of fault (0 if none), its line from 0, and the bytes in question.
_Fault = tuple[int, int, int, int]
_WordList = tuple[_U8, _I64, _I32]
_F32 = NDArray[np.float32]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]

# table_text.cpp
def parse_table(
    text: _U8,
    source_blob: _U8,
    source_offsets: _I64,
    target_blob: _U8,
    target_offsets: _I64,
    columns: int,
    extras: bool,
) -> tuple[tuple[_I32, _I64], tuple[_I32, _I64], _F32, tuple[_U16, _I64], _F32, _WordList, _WordList, int, _Fault]:
    """Lines `source ||| target ||| scores`, with `extras` also alignment points, counts and more.

    `columns` scores are expected, or as many as the first line has if it is 0. Gives the words of the sources and of
    the targets with their offsets, the scores, the points with their offsets, three counts a line (NaN where there are
    not three), the two grown word lists, the number of lines with something in further fields, and the fault.
    """

def table_ranks(text: _U8, offsets: _I64) -> _I32:
    """The rank of each phrase in the order of `LC_ALL=C sort` over lines in which ` |||` follows it."""

def format_table(
    rows: _I64,
    source_ids: _I32,
    source_text: _U8,
    source_offsets: _I64,
    target_ids: _I32,
    target_text: _U8,
    target_offsets: _I64,
    scores: _F32,
    extras: bool,
    points: _U16,
    point_offsets: _I64,
    counts: _F32,
) -> _U8:
    """The given rows as lines of a table, numbers with six digits; no points or counts if their arrays are empty."""

# arpa_text.cpp
_NGramLines = tuple[_I32, _F32, _F32, _I64, _Fault]

def parse_unigrams(text: _U8, blob: _U8, offsets: _I64, listed: _U8) -> tuple[_NGramLines, _WordList, _U8]:
    """Unigram lines, growing the word list: (words, log probabilities, back-offs, line of each from 0, fault), list.

    `listed` marks the words that have been unigrams; it comes back grown, as the last value.
    """

def parse_ngrams(text: _U8, order: int, blob: _U8, offsets: _I64, index: _I32, listed: _U8) -> _NGramLines:
    """N-gram lines of one order, over words that are listed."""

def format_ngrams(words: _I32, logprobs: _F32, backoffs: _F32, with_backoffs: bool, blob: _U8, offsets: _I64) -> _U8:
    """N-grams as lines, with the fewest digits that give the same floats again."""

# link_text.cpp
def parse_links(text: _U8, source_lengths: _I64, target_lengths: _I64, bounded: bool) -> tuple[_U32, _I64, _Fault]:
    """Lines of links `s-t` as `s << 16 | t`, each line sorted and without repetition, and the offsets of the lines."""

def format_links(links: _U32, offsets: _I64) -> _U8:
    """Links as lines of text."""
