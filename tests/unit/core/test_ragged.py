import numpy as np
import pytest
from hypothesis import given, strategies as st

from dragoman.core.ragged import Ragged

ROWS = st.lists(st.lists(st.integers(-5, 5), max_size=5), max_size=8)


def rows_of(ragged):
    return [row.tolist() for row in ragged]


@pytest.mark.slow
@given(ROWS)
def test_rows_come_out_as_they_went_in(rows):
    ragged = Ragged.of(rows, np.int32)
    assert ragged.values.dtype == np.int32
    assert ragged.offsets.dtype == np.int64
    assert rows_of(ragged) == rows
    assert [ragged[i].tolist() for i in range(len(ragged))] == rows
    assert ragged.lengths.tolist() == [len(row) for row in rows]


@given(ROWS.filter(bool), st.data())
def test_take(rows, data):
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=10))
    taken = Ragged.of(rows, np.int32).take(np.array(wanted, np.int64))
    assert rows_of(taken) == [rows[i] for i in wanted]
    assert taken.values.dtype == np.int32


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_concatenate(parts):
    joined = Ragged.concatenate([Ragged.of(part, np.int32) for part in parts])
    assert rows_of(joined) == [row for part in parts for row in part]
    assert joined.values.dtype == np.int32


@pytest.mark.parametrize("row", [-1, 2])
def test_rows_that_are_not_there(row):
    with pytest.raises(IndexError, match=f"row {row} of 2"):
        Ragged.of([[1], [2]], np.int32)[row]
