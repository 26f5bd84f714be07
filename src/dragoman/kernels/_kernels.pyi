"""What the compiled kernels take and give. One block for each C++ file; arrays must be C-contiguous."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]
_F64 = NDArray[np.float64]
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

# forest_*.cpp: hypergraphs that Hypergraph.check has passed; derivations are rows of edges in pre-order
def forest_inside(first_edge: _I64, tails: _I32, scores: _F64, maximum: bool) -> _F64:
    """Log-sum, or maximum, over the derivations of each node."""

def forest_outside(first_edge: _I64, tails: _I32, scores: _F64, inside: _F64, root: int, maximum: bool) -> _F64:
    """Log-sum, or maximum, over what is around each node in the derivations of the root."""

def forest_best(first_edge: _I64, tails: _I32, scores: _F64, root: int) -> tuple[_I32, float]:
    """The best derivation and its score; no edges if there is none."""

def forest_yields(
    first_edge: _I64,
    tails: _I32,
    scores: _F64,
    template_ids: _I32,
    template_words: _I32,
    template_offsets: _I64,
    edges: _I32,
    offsets: _I64,
) -> tuple[_I32, _I64]:
    """The words that each derivation writes; ValueError if a row is no derivation."""

def forest_ranges(
    first_edge: _I64,
    tails: _I32,
    scores: _F64,
    template_ids: _I32,
    template_words: _I32,
    template_offsets: _I64,
    edges: _I32,
    offsets: _I64,
) -> tuple[_I32, _I64]:
    """For each edge with words (edge, first word, end of its last word), in the order of first words; row offsets."""

def sum_feature_rows(
    groups: _I32, group_offsets: _I64, row_offsets: _I64, ids: _I32, values: _F64, names: int
) -> tuple[_I64, _I32, _F64]:
    """Sparse rows summed over groups of rows: offsets, ids and values."""

def forest_kbest(
    first_edge: _I64,
    tails: _I32,
    scores: _F64,
    template_ids: _I32,
    template_words: _I32,
    template_offsets: _I64,
    root: int,
    k: int,
    distinct: bool,
    max_derivations: int,
) -> tuple[_I32, _I64, _F64]:
    """The best derivations (edges, offsets) and their scores; looks at no more than max_derivations candidates."""

def forest_sample(
    first_edge: _I64,
    tails: _I32,
    scores: _F64,
    root: int,
    draws: int,
    seed: int,
    threads: int = 1,
    progress: _Progress = None,
) -> tuple[_I32, _I64]:
    """Independent draws of derivations; the root's inside score must be finite."""

def forest_split(
    first_edge: _I64,
    tails: _I32,
    scores: _F64,
    template_ids: _I32,
    template_words: _I32,
    template_offsets: _I64,
    root: int,
    order: int,
    max_edges: int,
) -> tuple[_I64, _I32, _I32, _I32, _I32, _I64, _I32, _I64]:
    """Split nodes by border words: first_edge, tails, the old node of each node and edge of each edge, the n-grams
    that each edge completes (ids, offsets) and the n-grams (words, offsets). ValueError beyond max_edges."""

def forest_contains(
    first_edge: _I64,
    tails: _I32,
    scores: _F64,
    root: int,
    occurrences: _I32,
    occurrence_offsets: _I64,
    ngrams: int,
    threads: int = 1,
    progress: _Progress = None,
) -> _F64:
    """For each n-gram of a split hypergraph the probability that a derivation has it."""

def forest_string(
    first_edge: _I64,
    tails: _I32,
    scores: _F64,
    template_ids: _I32,
    template_words: _I32,
    template_offsets: _I64,
    root: int,
    string: _I32,
) -> float:
    """Log-sum over the derivations that write a string."""
