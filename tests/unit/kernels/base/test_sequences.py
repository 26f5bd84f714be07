import numpy as np
import pytest
from hypothesis import given, strategies as st

from dragoman import kernels
from dragoman.core.ragged import Ragged
from oracles import sequences

ROWS = st.lists(st.lists(st.integers(0, 4), max_size=4), max_size=30)


def ragged(rows):
    return Ragged.of(rows, np.int32)


@given(ROWS)
def test_interning_numbers_distinct_rows_in_order(rows):
    given_rows = ragged(rows)
    ids, words, offsets = kernels.intern_sequences(given_rows.values, given_rows.offsets)
    expected_ids, expected_rows = sequences.intern_sequences(rows)
    assert ids.tolist() == expected_ids
    assert [row.tolist() for row in Ragged(words, offsets)] == expected_rows


def test_interning_many_rows_grows_the_table():
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, 50, rng.integers(0, 4)).tolist() for _ in range(20_000)]
    given_rows = ragged(rows)
    ids, words, offsets = kernels.intern_sequences(given_rows.values, given_rows.offsets)
    expected_ids, expected_rows = sequences.intern_sequences(rows)
    assert len(expected_rows) > 5_000
    assert ids.tolist() == expected_ids
    assert [row.tolist() for row in Ragged(words, offsets)] == expected_rows


@given(st.lists(st.lists(st.integers(0, 3), max_size=8), max_size=8), ROWS, st.integers(1, 5))
def test_spans_are_matched(lines, phrases, max_length):
    phrases = sequences.intern_sequences(phrases)[1]
    text, listed = ragged(lines), ragged(phrases)
    index = kernels.sequence_index(listed.values, listed.offsets)
    found = kernels.match_spans(text.values, text.offsets, max_length, listed.values, listed.offsets, index)
    assert found.shape == (len(text.values), max_length)
    assert found.tolist() == sequences.match_spans(lines, max_length, phrases)


@given(ROWS)
def test_the_index_finds_each_row_and_has_room(rows):
    rows = [row for row in sequences.intern_sequences(rows)[1] if row]
    listed = ragged(rows)
    index = kernels.sequence_index(listed.values, listed.offsets)
    assert len(index).bit_count() == 1
    assert len(index) > len(rows)
    assert sorted(index[index >= 0].tolist()) == list(range(len(rows)))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_what_is_found(threads):
    rng = np.random.default_rng(2)
    lines = [rng.integers(0, 9, rng.integers(0, 12)).tolist() for _ in range(1500)]
    phrases = sequences.intern_sequences([rng.integers(0, 9, rng.integers(1, 4)).tolist() for _ in range(300)])[1]
    text, listed = ragged(lines), ragged(phrases)
    index = kernels.sequence_index(listed.values, listed.offsets)
    shares = []
    found = kernels.match_spans(
        text.values, text.offsets, 3, listed.values, listed.offsets, index, threads, shares.append
    )
    assert found.tolist() == sequences.match_spans(lines, 3, phrases)
    assert all(0 <= share <= 1 for share in shares)


def test_ids_as_large_as_they_come():
    rows = [[2**31 - 1], [2**31 - 2, 2**31 - 1], [0]]
    listed = ragged(rows)
    index = kernels.sequence_index(listed.values, listed.offsets)
    text = ragged([[2**31 - 2, 2**31 - 1]])
    found = kernels.match_spans(text.values, text.offsets, 2, listed.values, listed.offsets, index)
    assert found.tolist() == [[-1, 1], [0, -1]]


@given(ROWS, ROWS)
def test_rows_are_found(wanted, phrases):
    phrases = sequences.intern_sequences(phrases)[1]
    rows, listed = ragged(wanted), ragged(phrases)
    index = kernels.sequence_index(listed.values, listed.offsets)
    found = kernels.find_sequences(rows.values, rows.offsets, listed.values, listed.offsets, index)
    assert found.tolist() == [phrases.index(row) if row in phrases else -1 for row in wanted]


def test_slots_of_sequences_can_be_filled_from_their_homes():
    random = np.random.default_rng(3)
    rows = Ragged.of(
        sorted({tuple(random.integers(0, 9, random.integers(1, 5)).tolist()) for _ in range(500)}), np.int32
    )
    index = kernels.sequence_index(rows.values, rows.offsets)
    homes = kernels.sequence_homes(rows.values, rows.offsets, len(index))
    slots, left = kernels.fill_slots(homes, len(index), 0, len(index))
    assert slots.tolist() == index.tolist()
    assert left.tolist() == []


def test_rows_that_find_no_place_are_left():
    slots, left = kernels.fill_slots(np.array([6, 1, 7, 7, 6]), 8, 4, 4)
    assert slots.tolist() == [1, -1, 0, 2]  # row 1 belongs elsewhere, and comes from before
    assert left.tolist() == [3, 4]
