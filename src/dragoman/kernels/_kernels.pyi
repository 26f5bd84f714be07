"""What the compiled kernels take and give. One block for each C++ file; arrays must be C-contiguous."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_F32 = NDArray[np.float32]
_F64 = NDArray[np.float64]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]
_U16 = NDArray[np.uint16]
_U32 = NDArray[np.uint32]
_U64 = NDArray[np.uint64]
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

def find_sequences(wanted: _I32, bounds: _I64, words: _I32, offsets: _I64, slots: _I32) -> _I32:
    """For each row of one ragged array its id among the indexed rows of another, or -1."""

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

def forest_intersection(
    first_edge: _I64,
    tails: _I32,
    scores: _F64,
    template_ids: _I32,
    template_words: _I32,
    template_offsets: _I64,
    root: int,
    string: _I32,
) -> tuple[_I64, _I32, _I32]:
    """The derivations that write a string as a hypergraph: first edges, tails, old edges; the root is the last node.

    No nodes if there are none.
    """

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

# extract.cpp
def extract_phrases(
    source_offsets: _I64,
    target_offsets: _I64,
    links: _U32,
    link_offsets: _I64,
    max_length: int,
    threads: int,
    progress: _Progress,
) -> tuple[_I32, _U16, _U8, _U16, _U8, _U8, _U8]:
    """Consistent phrase pairs of sorted links: sentence, source begin and length, target begin and length, and the
    orientation (0 monotone, 1 swap, 2 other) to the previous and the next phrase."""

# score.cpp
def number_spans(
    words: _I32, offsets: _I64, sentence: _I32, begin: _U16, length: _U8, threads: int, progress: _Progress
) -> tuple[_I32, _I32, _I64]:
    """Number spans of a corpus by their words, in order of first occurrence: ids; the distinct phrases' words and
    offsets. Fewer than 2**31 spans."""

def group_pairs(
    source_ids: _I32, target_ids: _I32, sources: int, threads: int, progress: _Progress
) -> tuple[_U32, _I64]:
    """Instances sorted by (source, target, instance), and the offsets of each distinct pair among them."""

def choose_alignments(
    order: _U32,
    pair_offsets: _I64,
    sentence: _I32,
    source_begin: _U16,
    source_length: _U8,
    target_begin: _U16,
    source_offsets: _I64,
    links: _U32,
    first_link: _I64,
    threads: int,
    progress: _Progress,
) -> tuple[_U32, _U32]:
    """For each pair the instance with its most frequent alignment; ties broken for the forward and for the backward
    table. `first_link` is the number of links before each source word of the corpus."""

def inner_links(
    instances: _U32,
    sentence: _I32,
    source_begin: _U16,
    source_length: _U8,
    target_begin: _U16,
    source_offsets: _I64,
    links: _U32,
    first_link: _I64,
) -> tuple[_U16, _I64]:
    """The links inside the given instances as 256 * source + target position, and their offsets."""

def span_products(weights: _F64, offsets: _I64, sentence: _I32, begin: _U16, length: _U8, instances: _U32) -> _F64:
    """The product of the weights of the words of each of the given instances; one weight a running word."""

def order_pairs(
    source_offsets: _I64,
    target_ids: _I32,
    target_words: _I32,
    target_offsets: _I64,
    first_score: _F32,
    second_score: _F32,
    threads: int,
    progress: _Progress,
) -> _I64:
    """Sort the pairs of each source phrase by two scores, greatest first, then by the words of the target."""

# significance.cpp
def phrase_occurrences(
    phrase_words: _I32, phrase_offsets: _I64, words: _I32, offsets: _I64, threads: int, progress: _Progress
) -> tuple[_I32, _I64]:
    """The sentences that hold each of the distinct phrases, ascending, and the phrases' offsets among them."""

def count_common(
    source_sentences: _I32,
    source_offsets: _I64,
    target_sentences: _I32,
    target_offsets: _I64,
    source_ids: _I32,
    target_ids: _I32,
    threads: int,
    progress: _Progress,
) -> _I64:
    """For each pair of phrases the number of sentences that hold both."""

def fisher_exact(joint: _I64, source: _I64, target: _I64, sentences: int, threads: int, progress: _Progress) -> _F64:
    """-log p of the one-sided Fisher exact test: that by chance alone `joint` or more pairs hold both phrases."""

# What a parser of lines says at the end: the kind of fault (0 if none), its line from 0, and the bytes in question.
_Fault = tuple[int, int, int, int]
_WordList = tuple[_U8, _I64, _I32]

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

# cooccurrence.cpp; _Cooccurrence is dragoman.training.align.cooccurrence.Cooccurrence
_Cooccurrence = tuple[_I32, _I64, _I32, _I64, _I32, _I32, _I64, _I64, _I32, int]

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

# phrase_search.cpp; _PhraseArrays is dragoman.search.batch.PhraseArrays
_PhraseArrays = tuple[
    _I32, _I64, _I32, _I32, _F64, _F64, _F64, _I32, _I32, _I32, _I64, _I32, list[tuple[Any, ...]], float, _F64
]

def lm_read_rows(
    slots: _U64, states: _U64, unigrams: _U64, end: int, starts: _I32, rows: _I32, words: _I32, offsets: _I64
) -> _F64:
    """Natural log-probability of each row's words after a state; row -1 is the single word `end`."""

def search_phrases(
    arrays: _PhraseArrays,
    words: _I32,
    targets: _I32,
    target_offsets: _I64,
    algorithm: int,
    reordering_limit: int,
    stack_size: int,
    threshold: float,
    pop_limit: int,
    max_size: int,
    keep_lattice: bool,
    threads: int = 1,
    progress: _Progress = None,
) -> dict[str, NDArray[Any]]:
    """Search a batch of sentences: outcomes, scores, expansions, best derivations, and lattices if wanted."""

# greedy.cpp; operators are a sum of 1 retranslate, 2 merge and split, 4 reorder, 8 move
def climb_derivations(
    arrays: _PhraseArrays,
    starts: _I32,
    start_offsets: _I64,
    operators: int,
    max_steps: int,
    reordering_limit: int,
    threads: int = 1,
    progress: _Progress = None,
) -> tuple[_U8, _F64, _F64, _I64, _I64, _I32, _I64]:
    """Climb from a derivation of each sentence, or from its gloss if that is empty.

    Returns whether there is no gloss, scores, scores of the starts, steps, neighbours looked at, derivations, offsets.
    """

def derivation_neighbours(
    arrays: _PhraseArrays, sentence: int, derivation: _I32, operators: int, reordering_limit: int
) -> tuple[_I32, _I64, _F64]:
    """The neighbours of a derivation, their offsets, and by how much they score more."""

# nbest_text.cpp
def parse_nbest(
    text: _U8,
    blob: _U8,
    offsets: _I64,
    label_blob: _U8,
    label_offsets: _I64,
    counts: _I32,
    grouped: bool,
    score_first: bool,
) -> tuple[
    _I64,
    tuple[_I32, _I64],
    tuple[_I64, _I32, _F64],
    _F64,
    tuple[_I32, _I64],
    tuple[_U8, _I64],
    tuple[_U8, _I64, _I32],
    tuple[_U8, _I64, _I32],
    _I32,
    tuple[int, int, int, int, int],
    tuple[int, int, int, int],
]:
    """Lines of n-best lists: sentence ids; words; features (offsets, ids, values); scores (NaN where empty); phrases
    (source begin and end, target begin and end); the rest of each line; the grown words and labels; the number of
    values of each label; style (fewest and most decimals, id without a space, words with two, labels with colons; -1
    where unknown); and the fault. The features of a label are numbered from the sum of the counts before it."""

def format_nbest(
    begin: int,
    end: int,
    ids: _I64,
    words: _I32,
    word_offsets: _I64,
    blob: _U8,
    offsets: _I64,
    value_offsets: _I64,
    feature_ids: _I32,
    values: _F64,
    scores: _F64,
    phrases: _I32,
    phrase_offsets: _I64,
    rest: _U8,
    rest_offsets: _I64,
    feature_labels: _I32,
    label_first: _I32,
    label_blob: _U8,
    label_offsets: _I64,
    grouped: bool,
    score_first: bool,
    tight: bool,
    padded: bool,
    colon: bool,
    decimals: int,
) -> _U8:
    """Hypotheses begin to end as lines of n-best lists; phrases and rest may be left out with empty offsets."""

def parse_number_columns(text: _U8, columns: int) -> tuple[_F64, tuple[int, int, int, int]]:
    """A table of finite numbers separated by tabs, and the fault."""

def format_number_columns(values: _F64) -> _U8:
    """The inverse of parse_number_columns, with as few digits as give the same numbers."""

# metric_ngrams.cpp, metric_edits.cpp, metric_meteor.cpp: hypothesis i translates sentence sentences[i]; words of
# hypotheses that no reference has are below 0
def clipped_ngrams(
    words: _I32,
    offsets: _I64,
    sentences: _I64,
    reference_words: _I32,
    reference_offsets: _I64,
    references: int,
    weights: _F64,
    order: int,
    threads: int = 1,
    progress: _Progress = None,
) -> _F64:
    """Weight of the n-grams of each order (columns, from 1) that each hypothesis (rows) shares with its references.

    Sentence s has the reference rows from s * references on; an n-gram counts at most as often as in one of them.
    `weights` has a row for each reference word, a column for each order of n-gram that begins there; or no rows.
    """

def edit_distances(
    words: _I32,
    offsets: _I64,
    sentences: _I64,
    reference_words: _I32,
    reference_offsets: _I64,
    threads: int = 1,
    progress: _Progress = None,
) -> _I64:
    """Levenshtein distance of each hypothesis to its sentence's reference."""

def translation_edits(
    words: _I32,
    offsets: _I64,
    sentences: _I64,
    reference_words: _I32,
    reference_offsets: _I64,
    threads: int = 1,
    progress: _Progress = None,
) -> _I64:
    """Shifts and edits from each hypothesis to its sentence's reference, found as sacreBLEU's TER finds them."""

def meteor_matches(
    words: _I32,
    stems: _I32,
    offsets: _I64,
    sentences: _I64,
    reference_words: _I32,
    reference_stems: _I32,
    reference_offsets: _I64,
    beam: int,
    threads: int = 1,
    progress: _Progress = None,
) -> _I64:
    """For each hypothesis: exact matches, further matches of stems, and chunks (the fewest that the beam finds)."""

# mira.cpp
def distinct_statistics(sentences: _I64, statistics: _F64) -> tuple[_I64, _I64, _I64]:
    """Number the distinct statistics of each sentence: of each row; a row of each; where a sentence's begin."""

def decayed_sums(statistics: _F64, start: _F64, decay: float, factor: float) -> _F64:
    """Row i + 1 is decay times row i plus factor times statistics[i]; row 0 is the start."""

def best_rows(sentences: _I64, offsets: _I64, ids: _I32, values: _F64, weights: _F64, threads: int) -> _I64:
    """The first row of each sentence that has the highest model score."""

def mira_epoch(
    sentences: _I64,
    offsets: _I64,
    ids: _I32,
    values: _F64,
    kinds: _I64,
    kind_offsets: _I64,
    statistics: _F64,
    bleu_columns: _I64,
    gains: _F64,
    order: _I64,
    weights: _F64,
    drift: _F64,
    background: _F64,
    ticks: int,
    C: float,
    decay: float,
) -> tuple[_F64, _F64, _F64, int, float]:
    """One pass of k-best MIRA: new weights, drift and background, number of updates, total loss.

    `statistics` has a row for each kind, whose last column is the sentence's size. With `bleu_columns` the gains come
    from BLEU in the pseudo-document, which changes with each sentence; without them `gains` has one for each kind. The
    average of the weights after each of T sentences is weights - drift / T.
    """

# mira_smo.cpp
def mira_smo_batch(
    sentences: _I64,
    offsets: _I64,
    ids: _I32,
    values: _F64,
    kinds: _I64,
    gains: _F64,
    batch: _I64,
    weights: _F64,
    hypotheses: int,
    C: float,
    tolerance: float,
    max_sweeps: int,
) -> tuple[_F64, _I64, float, int]:
    """MIRA's update for a batch of sentences: new weights, best rows under the old ones, duality gap, sweeps."""

# pair_sample.cpp
def sample_pairs(
    sentences: _I64,
    scores: _F64,
    draws: int,
    keep: int,
    threshold: float,
    largest: bool,
    seed: int,
    threads: int,
    progress: _Progress,
) -> tuple[_I64, _I64]:
    """Distinct random pairs in each sentence, the first or those whose scores differ most: better rows, worse rows."""

# evaluate.cpp
def distinct_candidates(sentences: _I64, offsets: _I64, ids: _I32, values: _F64, threads: int) -> _U8:
    """Mark the candidates that do not repeat the features of an earlier one of the same sentence."""

def best_candidates(
    sentences: _I64,
    features: _F32,
    tolerance: _F32,
    rows: _I64,
    offsets: _I64,
    ids: _I32,
    values: _F64,
    weights: _F64,
    threads: int,
) -> _I32:
    """The winning candidate of each sentence (row) under each weight vector (column).

    `features` are those of the candidates relative to one of their sentence; winners that are ahead by less than
    |weights| · `tolerance` are found again from row `rows[candidate]` of the sparse rows `offsets`, `ids`, `values`.
    """

def box_winners(
    sentences: _I64, features: _F32, tolerance: _F32, centre: _F64, reach: _F64, rivals: int, threads: int
) -> _U8:
    """Mark the candidates that may win somewhere in the box `centre` ± `reach` (those beaten by `rivals` are out)."""

def sum_winners(statistics: _F64, rows: _I64, usual: _I64, winners: _I32, threads: int) -> _F64:
    """Sum the statistics, which are whole numbers, of the winners under each weight vector."""

# risk.cpp
def expected_statistics(
    sentences: _I64, offsets: _I64, ids: _I32, values: _F64, statistics: _F64, weights: _F64, threads: int
) -> tuple[_F64, _F64, _F64, float]:
    """Scores relative to each sentence's highest, probabilities, expected sum of statistics, sum of entropies."""

def expectation_gradient(
    sentences: _I64,
    offsets: _I64,
    ids: _I32,
    values: _F64,
    statistics: _F64,
    scores: _F64,
    probabilities: _F64,
    slopes: _F64,
    temperature: float,
    features: int,
    threads: int,
) -> _F64:
    """The gradient of slopes · expected statistics + temperature · entropy with respect to the weights."""

# mert.cpp
def mert_scores(columns: _F64, weights: _F64, sentences: _I64) -> tuple[_F64, _I32]:
    """The weighted sum of each candidate's features (`columns` has a row for each feature), and the first best ones."""

def mert_moved(scores: _F64, slopes: _F64, step: float, sentences: _I64) -> tuple[_F64, _I32]:
    """Scores after a step along a direction in which they have the given slopes, and the first best candidates."""

def mert_order(slopes: _F64, sentences: _I64) -> _I32:
    """The candidates of each sentence by falling slope, equal ones in their order."""

def mert_contenders(intercepts: _F64, best: _I32, slopes: _F64, sentences: _I64) -> tuple[_I32, _I64]:
    """The candidates that may be best somewhere, in that order, and where those of each sentence begin."""

def mert_same_statistics(statistics: _F64, sentences: _I64) -> _I32:
    """For each candidate the first one of its sentence with the same statistics."""

def mert_line(
    intercepts: _F64,
    best: _I32,
    slopes: _F64,
    order: _I32,
    sentences: _I64,
    same: _I32,
    statistics: _F64,
) -> tuple[_F64, _F64]:
    """Where the sum of the best candidates' statistics changes along a line, and the sums around those breaks.

    Candidate i scores intercepts[i] + t * slopes[i]; `best` is the first best one of each sentence at t = 0. `order`
    has all candidates (from mert_order) or some (from mert_contenders); those of a sentence begin at `sentences` there.
    has all candidates (from mert_order) or some (mert_contenders); those of a sentence begin at `sentences` there.
    """

# forest_envelope.cpp
def forest_envelopes(
    first_edge: _I64,
    tails: _I32,
    intercepts: _F64,
    slopes: _F64,
    nodes: _I64,
    roots: _I64,
    threads: int = 1,
    progress: _Progress = None,
) -> tuple[_I64, _F64, _F64, _I32, _I64]:
    """The upper envelope of each of several hypergraphs, whose edges score intercept + t * slope.

    The hypergraphs stand one after the other: `nodes` is where the nodes of each begin. Returns where the segments of
    each begin, their intercepts and slopes, by rising slope, and their derivations (edges and offsets). Raises an
    OverflowError if a derivation's score is not finite.
    """

# expected_gain.cpp
def expected_bleu(
    words: _I32,
    offsets: _I64,
    sentences: _I64,
    evidence_words: _I32,
    evidence_offsets: _I64,
    evidence_sentences: _I64,
    weights: _F64,
    order: int,
    addend: float,
    matrix: bool = False,
    threads: int = 1,
    progress: _Progress = None,
) -> tuple[_F64, _F32]:
    """Sentence BLEU of each hypothesis against the strings of its sentence's evidence, summed with their weights.

    `addend` is added to matches and n-grams of orders above 1. With `matrix` also all gains: those of a sentence are
    a matrix of hypotheses and evidence, row by row. Words must not be negative, and strings below 65,536 words.
    """

def expected_chrf(
    words: _I32,
    offsets: _I64,
    sentences: _I64,
    evidence_words: _I32,
    evidence_offsets: _I64,
    evidence_sentences: _I64,
    weights: _F64,
    order: int,
    beta: float,
    matrix: bool = False,
    threads: int = 1,
    progress: _Progress = None,
) -> tuple[_F64, _F32]:
    """The same for chrF; words are characters here."""

# ngram_consensus.cpp
def list_ngrams(
    words: _I32,
    offsets: _I64,
    sentences: _I64,
    weights: _F64,
    order: int,
    threads: int = 1,
    progress: _Progress = None,
) -> tuple[_I64, _I32, _I64, _F64]:
    """The n-grams of each sentence's strings: bounds of sentences, words, offsets, weighted counts."""

def ngram_sums(
    words: _I32,
    offsets: _I64,
    sentences: _I64,
    ngram_words: _I32,
    ngram_offsets: _I64,
    ngram_sentences: _I64,
    values: _F64,
    order: int,
    missing: float,
    clipped: bool,
    threads: int = 1,
    progress: _Progress = None,
) -> _F64:
    """For each string and order the sum of its n-grams' values, `missing` for n-grams that its sentence does not list.

    If clipped, an n-gram that occurs c times counts min(c, value) in all.
    """

# forest_translations.cpp
def forest_translations(
    first_edge: _I64,
    tails: _I32,
    scores: _F64,
    template_ids: _I32,
    template_words: _I32,
    template_offsets: _I64,
    root: int,
    beam: int,
    max_strings: int,
) -> tuple[_I32, _I64, _F64]:
    """The strings with the largest log-sums over their derivations, best first, if each node keeps `beam` strings.

    Raises a ValueError if more than `max_strings` are met.
    """

# gibbs.cpp
def gibbs_sample(
    arrays: _PhraseArrays,
    proposal_arrays: _PhraseArrays | None,
    lattices: tuple[NDArray[Any], ...] | None,
    features: list[tuple[int, bool, float, bool, _I32, _I32]],
    starts: _I32,
    start_offsets: _I64,
    groups: _I64,
    *,
    reordering_limit: int,
    chains: int,
    seed: int,
    first_number: int,
    rates: tuple[float, float, float],
    random: bool,
    per_pass: bool,
    samples: int,
    thin: int,
    burn_in: _F64,
    temperature: float,
    jump_every: int,
    forward_share: float,
    max_seconds: float,
    trace: bool,
    threads: int = 1,
    progress: _Progress = None,
) -> dict[str, NDArray[Any]]:
    """Run Markov chains over derivations.

    `proposal_arrays` are the same options under other weights, from which steps are drawn. `lattices` are node offsets,
    first edges, edge offsets, tails, options and scores as `search_phrases` gives them. `features` have an address,
    whether it is that of `IncrementalFunctions` rather than of a function, a weight, whether they see documents, and
    symbols of the source words and of the options' words. `groups` are the bounds of documents. An empty start is a
    random one. `rates` and the columns of `steps` and `changes` are for merging and splitting, reordering,
    retranslating.

    Returns, for each sentence, whether a start was found, and the `rows` of its `derivations` (with `offsets`,
    `scores`, `counts` by chain); for each sentence and chain the best derivation and its score, seconds, and
    statistics: three counts of steps, three of changes, jumps tried and accepted, samples; and for each sample of each
    chain its row in the sentence, -1 where the time was over. Best scores are without features of documents; with them
    it is documents that have a best, whose score is in `document_scores`, by group and chain. With `trace`, the values
    of these features at each sample are in `document_values`, by group, chain, sample and feature, NaN where the time
    was over.
    """

# global_features.cpp
def global_functions() -> dict[str, int]:
    """The addresses of compiled global features: of functions, and of the `IncrementalFunctions` of documents."""

def global_values(
    function: int, source: _I32, source_offsets: _I64, sentences: _I64, targets: _I32, target_offsets: _I64
) -> _F64:
    """A function's value for each target, which translates a sentence of the source."""

# segmentations.cpp
def segmentation_components(lengths: _I32, offsets: _I64, begin: _I32, end: _I32, most: int, threads: int = 1) -> _I64:
    """The number of connected parts of each sentence's segmentation graph, at most `most`, given its options' spans."""

# samplerank.cpp; the tuples are dragoman.tuning.feature_table.FeatureArrays and dragoman.tuning.batch_gain.BleuArrays
def samplerank(
    arrays: _PhraseArrays,
    features: tuple[Any, ...],
    globals: list[tuple[int, bool, float, bool, _I32, _I32]],  # noqa: A002
    global_features: _I32,
    bleu: tuple[Any, ...] | None,
    callback: Callable[[int, _I32, _I64, _F64], tuple[_F64, _F64]] | None,
    words: _I32,
    source_offsets: _I64,
    units: _I64,
    learnt: _U8,
    weights: _F64,
    batch_units: _I64,
    batch_offsets: _I64,
    chain_offsets: _I64,
    *,
    reordering_limit: int,
    seed: int,
    first_batch: int,
    rates: tuple[float, float, float],
    burn_in: int,
    samples: int,
    temperature: float,
    gain_scale: float,
    margin: float,
    bound: float,
    constraints: int,
    by_margin: bool,
    sign: float,
    trace: bool,
    threads: int = 1,
    progress: _Progress = None,
) -> dict[str, Any]:
    """Run chains of SampleRank, each with its row of `weights` on its batches, which are rows of units (sentences or
    documents, given by their bounds).

    `globals` are as in `gibbs_sample` (their weights are not used, but those of `global_features`). Without `bleu`,
    `callback` gives statistics and gains of translations. A `margin` below 0 is the gain of the oracle. Batch b of a
    chain has the random numbers of `first_batch` + b.

    Returns `missing` (for each chain a sentence without derivation, or -1), `weights` of each chain at its end,
    `totals` of the weights over all collected steps; `counts`: steps collected, all steps, steps that changed the
    derivation, those that changed weights, duals at their bound, batches; `measures`: gains at the end of batches, and
    lengths of changes of weights, summed; and `traces` with all steps: sentence, operator, its points, size of the
    block, constraints; phrases and offsets of the derivation drawn and of the oracle, by turns; score and gain of both,
    and the first dual; the weights after the step.
    """

# forest_gradient.cpp: hypergraphs are a tuple of bounds of nodes, roots, first edges, tails, the row of features of
# each edge, bounds of each hypergraph's rows, and offsets, ids and values of features.
_Graphs = tuple[_I64, _I64, _I64, _I32, _I32, _I64, _I64, _I32, _F64]

def forest_log_shares(graphs: _Graphs, weights: _F64, threads: int) -> tuple[_F64, _F64]:
    """The logarithm of the share that each edge has in the mass of its head, and log Z of each hypergraph."""

def forest_expected_sums(graphs: _Graphs, shares: _F64, columns: _F64, threads: int) -> _F64:
    """For each hypergraph the expected sum over a derivation's edges of each column, given the logarithms of shares."""

def forest_expected_gains(
    graphs: _Graphs, shares: _F64, gains: _F64, temperature: float, features: int, threads: int
) -> tuple[_F64, _F64]:
    """Expected gain + temperature · entropy of each hypergraph, and the gradient of their sum by the weights."""

def forest_expected_features(graphs: _Graphs, shares: _F64, factors: _F64, features: int, threads: int) -> _F64:
    """The sum over hypergraphs of factor · expected features: the gradient of the sum of factor · log Z."""

# forest_merge.cpp
def forest_labels(
    template_ids: _I32,
    template_words: _I32,
    template_offsets: _I64,
    spans: _I32,
    offsets: _I64,
    ids: _I32,
    values: _F64,
) -> _I32:
    """A number for each edge, the same for edges that write and cover the same and have the same features."""

def forest_merge(
    first_edge: _I64, tails: _I32, scores: _F64, labels: _I32, roots: _I64
) -> tuple[_I64, _I32, _I32, int]:
    """Join roots, and the heads of edges with equal labels and tails: first edges, tails, old edges, root.

    A ValueError if a node would come before itself.
    """
