"""Bounds, order and numbers of arrays, also where blocks of rows meet."""

import numpy as np
import pytest

from dragoman.core import store
from dragoman.core.errors import DataError


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(store, "_BLOCK", 2)


def test_blocks_are_all_rows():
    assert [list(range(10))[rows] for rows in store.blocks(5)] == [[0, 1], [2, 3], [4]]
    assert not list(store.blocks(0))


@pytest.mark.parametrize("at", range(1, 5))
def test_offsets_fall_nowhere(at):
    offsets = np.array([0, 3, 6, 9, 12, 15])
    store.check_offsets("a", offsets, 15, longest=3)
    offsets[at] = 100
    with pytest.raises(DataError, match=f"'a' falls from 100 to {offsets[at + 1]}; expected offsets that never fall"):
        store.check_offsets("a", offsets, 15)
    offsets[at] = 3 * at + 1
    with pytest.raises(DataError, match="'a' has a row of 4; expected at most 3"):
        store.check_offsets("a", offsets, 15, longest=3)


@pytest.mark.parametrize("offsets", [[], [1, 2], [0, 1]])
def test_offsets_have_both_ends(offsets):
    with pytest.raises(DataError, match="'a' has other ends; expected offsets from 0 to 2"):
        store.check_offsets("a", np.array(offsets, np.int64), 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38, -3e38])
@pytest.mark.parametrize("at", range(5))
def test_numbers_are_finite(value, at):
    values = np.linspace(-100, 0, 5, dtype=np.float32)
    store.check_numbers("a", values)
    values[at] = value
    with pytest.raises(DataError, match=r"the array 'a' holds .*; expected finite numbers of a usual size"):
        store.check_numbers("a", values)


def test_the_largest_number_is_the_same_in_any_precision():
    for kind in (np.float32, np.float64):
        store.check_numbers("a", np.array([store.LARGEST, -store.LARGEST], kind))
