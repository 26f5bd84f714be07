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
