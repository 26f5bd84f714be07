import numpy as np
import pytest
from hypothesis import given, strategies as st

from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.ragged import Ragged

NAMES = ("a", "b", "c")


def random_rows(seed, rows=6, names=NAMES):
    """Sparse rows in which features may be repeated, and the same as lists of dictionaries."""
    rng = np.random.default_rng(seed)
    entries = [
        [(int(rng.integers(len(names))), float(rng.integers(-4, 5))) for _ in range(rng.integers(0, 5))]
        for _ in range(rows)
    ]
    ids = Ragged.of([[feature for feature, _ in row] for row in entries], np.int32)
    values = np.array([value for row in entries for _, value in row], np.float64)
    expected = [dict.fromkeys(names, 0.0) for _ in range(rows)]
    for row, totals in zip(entries, expected, strict=True):
        for feature, value in row:
            totals[names[feature]] += value
    return FeatureRows(tuple(names), ids.offsets, ids.values, values), expected


def as_dicts(rows):
    return [{name: rows.row(i).get(name, 0.0) for name in rows.names} for i in range(len(rows))]


SEEDS = st.integers(0, 10_000)


@given(SEEDS)
def test_rows_and_matrices_say_the_same(seed):
    rows, expected = random_rows(seed)
    assert as_dicts(rows) == expected
    assert [dict(zip(NAMES, row, strict=True)) for row in rows.dense().tolist()] == expected


@given(SEEDS)
def test_weighted_sums(seed):
    rows, expected = random_rows(seed)
    weights = Weights({"a": 2.0, "c": -0.5, "unheard of": 7.0})
    assert rows.dot(weights).tolist() == [2 * row["a"] - 0.5 * row["c"] for row in expected]


@given(SEEDS)
def test_taking_rows_in_any_order(seed):
    rows, expected = random_rows(seed)
    wanted = np.random.default_rng(seed).integers(0, len(rows), 9)
    assert as_dicts(rows.take(wanted)) == [expected[i] for i in wanted]
    first, last = sorted(wanted[:2].tolist())
    assert as_dicts(rows.part(slice(first, last))) == expected[first:last]


@given(SEEDS)
def test_sums_over_groups_of_rows(seed):
    rows, expected = random_rows(seed)
    rng = np.random.default_rng(seed)
    groups = [rng.integers(0, len(rows), rng.integers(0, 4)).tolist() for _ in range(5)]
    sums = rows.sum_over(Ragged.of(groups, np.int32))
    assert as_dicts(sums) == [{name: sum(expected[i][name] for i in group) for name in NAMES} for group in groups]


@given(SEEDS)
def test_joining_features_of_the_same_rows(seed):
    parts = [random_rows(seed, names=("a", "b")), random_rows(seed + 1, names=("c",)), random_rows(seed + 2)]
    parts[2] = (FeatureRows(("d", "e", "f"), *_columns(parts[2][0])), parts[2][1])
    joined = FeatureRows.join([rows for rows, _ in parts])
    assert joined.names == ("a", "b", "c", "d", "e", "f")
    np.testing.assert_array_equal(joined.dense(), np.hstack([rows.dense() for rows, _ in parts]))


def _columns(rows):
    return rows.offsets, rows.ids, rows.values


def test_dense_rows_leave_zeros_out():
    rows = FeatureRows.from_dense(["a", "b"], np.array([[0.0, 0.0], [0.0, 2.0]], np.float32))
    assert rows.offsets.tolist() == [0, 0, 1]
    assert rows.row(0) == {}
    assert rows.row(1) == {"b": 2.0}
    assert rows.values.dtype == np.float64


def test_no_rows():
    rows = FeatureRows.from_dense(["a"], np.empty((0, 1)))
    assert len(rows) == 0
    assert rows.dot(Weights({"a": 1})).shape == (0,)
    assert rows.dense().shape == (0, 1)
    assert len(rows.take(np.empty(0, np.int64))) == 0


def test_a_row_lists_features_in_the_order_of_names():
    rows = FeatureRows(("x", "y"), np.array([0, 3]), np.array([1, 0, 1], np.int32), np.array([1.0, 2.0, 3.0]))
    assert list(rows.row(0).items()) == [("x", 2.0), ("y", 4.0)]


def test_inputs_stay_as_they_are():
    rows, _ = random_rows(3)
    before = rows.values.copy()
    rows.dot(Weights({"a": 3.0}))
    rows.sum_over(Ragged.of([[0, 1]], np.int32))
    np.testing.assert_array_equal(rows.values, before)
    with pytest.raises(AttributeError):
        rows.names = ()


def test_names_that_no_row_has_are_dropped():
    rows = FeatureRows(
        ("x", "y", "z"), np.array([0, 2, 2, 3]), np.array([2, 0, 2], np.int32), np.array([1.0, 2.0, 3.0])
    )
    used = rows.used()
    assert used.names == ("x", "z")
    assert [used.row(i) for i in range(3)] == [rows.row(i) for i in range(3)]
    assert used.used() is used
    assert FeatureRows.zeros(2).used().names == ()
