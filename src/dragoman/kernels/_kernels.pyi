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

# cooccurrence.cpp; _Cooccurrence is dragoman.training.align.cooccurrence.Cooccurrence
_Cooccurrence = tuple[_I32, _I64, _I32, _I64, _I32, _I32, _I64, _I64, _I32, int]
_U32 = NDArray[np.uint32]
_F64 = NDArray[np.float64]

def group_tokens(words: _I32, offsets: _I64, given_offsets: _I64, vocabulary: int) -> tuple[_I32, _I32, _I64]:
    """Tokens of one side grouped by word, without those whose other side is empty: sentences, positions, offsets."""

def cooccurring_words(
    given_words: _I32, given_offsets: _I64, sentences: _I32, groups: _I64, null_word: int, threads: int
) -> tuple[_I64, _I32]:
    """For each generated word the offset of its row, and in it NULL and the given words of its sentence pairs."""

def pair_cells(cooccurrence: _Cooccurrence, cell_offsets: _I64, threads: int) -> _U32:
    """For every generated and given position of every sentence pair, the place of the pair in its row."""

def link_rows(given_positions: _I32, generated_offsets: _I64, generated_is_source: bool) -> tuple[_U32, _I64]:
    """Links and their offsets, from the given position of each generated token (-1: none)."""

# alignment.cpp
def expected_counts(
    cooccurrence: _Cooccurrence,
    probabilities: _F64,
    null_probability: float,
    tension: float | None,
    threads: int,
    progress: _Progress,
) -> tuple[_F64, float, float]:
    """E-step of Model 1 (no tension) or the diagonal model: counts of pairs, log likelihood, sum of the feature."""

def likeliest_given(
    cooccurrence: _Cooccurrence,
    probabilities: _F64,
    null_probability: float,
    tension: float | None,
    threads: int,
    progress: _Progress,
) -> _I32:
    """For each generated token the likeliest given position, -1 for NULL."""

def translation_probabilities(
    pair_given: _I32, counts: _F64, null_word: int, alpha: float | None, threads: int
) -> _F64:
    """M-step: p(generated | given) of each pair, variational Bayesian if there is an alpha."""

def diagonal_expectation(
    generated_lengths: _I64, given_lengths: _I64, frequencies: _I64, tension: float, threads: int
) -> float:
    """Sum over all generated tokens of the feature's expectation under the diagonal prior, as fast_align has it."""

# hmm.cpp
def hmm_expected_counts(
    cooccurrence: _Cooccurrence,
    cells: _U32,
    cell_offsets: _I64,
    probabilities: _F64,
    jump_weights: _F64,
    uniform_share: float,
    null_probability: float,
    threads: int,
    progress: _Progress,
) -> tuple[_F64, _F64, _F64, float]:
    """E-step of the HMM: counts of pairs, uses of each jump, chances to use it, log likelihood."""

def hmm_viterbi(
    cooccurrence: _Cooccurrence,
    cells: _U32,
    cell_offsets: _I64,
    probabilities: _F64,
    jump_weights: _F64,
    uniform_share: float,
    null_probability: float,
    threads: int,
    progress: _Progress,
) -> _I32:
    """For each generated token the given position in the likeliest alignment of its sentence pair, -1 for NULL."""

# symmetrise.cpp
def symmetrise_links(
    forward: _U32, forward_offsets: _I64, reverse: _U32, reverse_offsets: _I64, method: int, threads: int
) -> tuple[_U32, _I64]:
    """Both directions' links made one; methods: 0 intersection, 1 union, 2 grow-diag, 3 …-final, 4 …-final-and."""
