import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.runtime import Runtime
from dragoman.training.align.passes import Cooccurrence
from oracles.bitexts import Pairs, random_bitext, sentence_lists


@pytest.mark.parametrize("seed", range(10))
def test_rows_hold_null_and_every_word_seen_with_a_word_once(seed):
    bitext = random_bitext(np.random.default_rng(seed))
    keys = Pairs(Cooccurrence.of(bitext.source, bitext.target)).keys
    expected = {
        (e, f)
        for given, generated in sentence_lists(bitext.source, bitext.target)
        if given
        for f in generated
        for e in [None, *given]
    }
    assert len(keys) == len(expected)
    assert set(keys) == expected


@pytest.mark.parametrize("seed", range(5))
def test_tokens_are_grouped_by_word_in_corpus_order(seed):
    bitext = random_bitext(np.random.default_rng(seed))
    table = Cooccurrence.of(bitext.source, bitext.target)
    pairs = sentence_lists(bitext.source, bitext.target)
    for word in range(len(bitext.target.vocab)):
        group = slice(table.token_groups[word], table.token_groups[word + 1])
        found = list(zip(table.token_sentences[group].tolist(), table.token_positions[group].tolist(), strict=True))
        assert found == [(s, j) for s, (e, f) in enumerate(pairs) if e for j, w in enumerate(f) if w == word]


@pytest.mark.parametrize("seed", range(5))
def test_cells_lead_to_their_pairs_and_left_out_sentences_have_none(seed):
    bitext = random_bitext(np.random.default_rng(seed))
    table = Cooccurrence.of(bitext.source, bitext.target)
    pairs = sentence_lists(bitext.source, bitext.target)
    sizes = [0 if s == 3 else len(e) * len(f) for s, (e, f) in enumerate(pairs)]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    cells = kernels.pair_cells(table.for_kernels(), offsets, 2)
    assert len(cells) == offsets[-1]
    for s, (given, generated) in enumerate(pairs):
        if s == 3:
            continue
        for j, word in enumerate(generated):
            for i, other in enumerate(given):
                place = table.pair_offsets[word] + cells[offsets[s] + j * len(given) + i]
                assert table.pair_given[place] == other


def test_threads_do_not_change_the_rows():
    bitext = random_bitext(np.random.default_rng(1), rows=300, longest=12, words=40)
    one, three = (Cooccurrence.of(bitext.source, bitext.target, runtime=Runtime(threads=threads)) for threads in (1, 3))
    np.testing.assert_array_equal(one.pair_given, three.pair_given)
    np.testing.assert_array_equal(one.pair_offsets, three.pair_offsets)


def test_an_empty_bitext_has_no_rows():
    nothing = Corpus.from_lines([])
    table = Cooccurrence.of(nothing, nothing)
    assert len(table.pair_given) == 0
    assert table.tokens == 0


def test_link_rows_are_sorted_source_first():
    positions = np.array([2, -1, 0, 1, 1], np.int32)
    offsets = np.array([0, 3, 3, 5], np.int64)
    links, rows = kernels.link_rows(positions, offsets, False)
    assert [(v >> 16, v & 0xFFFF) for v in links.tolist()] == [(0, 2), (2, 0), (1, 0), (1, 1)]
    assert rows.tolist() == [0, 2, 2, 4]
    links, rows = kernels.link_rows(positions, offsets, True)
    assert [(v >> 16, v & 0xFFFF) for v in links.tolist()] == [(0, 2), (2, 0), (0, 1), (1, 1)]
    assert rows.tolist() == [0, 2, 2, 4]


def test_link_rows_hold_the_largest_positions():
    positions = np.full(65_535, -1, np.int32)
    positions[-1] = 65_534
    links, _ = kernels.link_rows(positions, np.array([0, 65_535], np.int64), False)
    assert links.tolist() == [65_534 << 16 | 65_534]
