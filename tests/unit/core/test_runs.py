import numpy as np
import pytest

from dragoman.core.spill import Column, Kept, Runs, merged
from dragoman.core.workspace import Workspace


def dealt_out(memory, blocks, tmp_path, order="number"):
    with Workspace(memory, tmp_path) as workspace:
        runs = Runs(workspace, "rows", lambda rows: rows["key"] % 16, bytes_per_row=8, buckets=16, order=order)
        first = 0
        for keys in blocks:
            number = np.arange(first, first + len(keys))
            first += len(keys)
            runs.add({"key": keys, "number": number, "wide": np.stack([number, -number], axis=1)})
        written = runs.written
        return written, [part for part in runs.partitions() if part]


@pytest.mark.parametrize("memory", [1, 64 * 8, 640 * 8, 6400 * 8, None])
def test_partitions_hold_every_row_once_and_in_order(memory, tmp_path):
    random = np.random.default_rng(1)
    blocks = [random.integers(0, 1000, size=size) for size in (0, 7, 150, 1, 300, 0, 42)]
    written, parts = dealt_out(memory, blocks, tmp_path)
    assert written == (memory is not None and memory < 6400 * 8)
    assert len(parts) == 1 if not written else len(parts) > 1
    keys = np.concatenate(blocks)
    seen = [set((part["key"] % 16).tolist()) for part in parts]
    assert sum(map(len, seen)) == len(set().union(*seen))  # no bucket is in two partitions
    for part in parts:
        assert np.all(np.diff(part["number"]) > 0)
        assert np.array_equal(part["key"], keys[part["number"]])
        assert np.array_equal(part["wide"], np.stack([part["number"], -part["number"]], axis=1))
    assert sorted(np.concatenate([part["number"] for part in parts]).tolist()) == list(range(len(keys)))
    assert list(tmp_path.iterdir()) == []


def test_no_rows_are_no_partition(tmp_path):
    assert dealt_out(1, [np.empty(0, np.int64)], tmp_path) == (False, [])


def test_partitions_fit_as_far_as_buckets_do(tmp_path):
    _, parts = dealt_out(8 * 40 * 8, [np.arange(80), np.arange(80)], tmp_path)
    assert [len(part["key"]) for part in parts] == [40, 40, 40, 40]


def test_as_many_parts_as_are_wanted_though_all_fits(tmp_path):
    with Workspace(None, tmp_path) as workspace:
        runs = Runs(workspace, "rows", lambda rows: rows["key"] % 16, bytes_per_row=8, buckets=16)
        runs.add({"key": np.arange(160)})
        assert [len(part["key"]) for part in runs.partitions(4)] == [40, 40, 40, 40]


def test_what_is_kept_comes_back(tmp_path):
    with Workspace(1, tmp_path) as workspace:
        arrays = {"a": np.arange(7), "b": np.arange(6.0).reshape(3, 2), "c": np.empty(0, np.uint8)}
        kept = Kept(workspace, "kept", arrays)
        back = kept.load()
        assert kept.names() == ["a", "b", "c"] == list(back)
        assert all(
            np.array_equal(back[name], arrays[name]) and back[name].dtype == arrays[name].dtype for name in arrays
        )
        assert kept.rows("b", 1, 3).tolist() == [[2, 3], [4, 5]]
        assert kept.rows("a", 7, 7).tolist() == []
        kept.discard()
        assert list(workspace.folder.iterdir()) == []


@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_a_merge_takes_every_row_once_and_in_order(most):
    random = np.random.default_rng(most)
    numbers = random.permutation(200)
    keys = [np.sort(part) for part in np.split(numbers, [3, 80, 80, 150])]
    found = []
    for places in merged(keys, most):
        step = np.concatenate([key[a:b] for key, (a, b) in zip(keys, places, strict=True)])
        assert len(step) > 0
        found += sorted(step.tolist())
    assert found == list(range(200))


@pytest.mark.parametrize("memory", [None, 1 << 20, 1000])
def test_columns_are_mapped_where_they_are_large(memory, tmp_path):
    with Workspace(memory, tmp_path) as workspace:
        for _ in range(2):  # a second one of the name leaves the first as it is
            column = Column(workspace, "column", np.int32, 50, 2)
            for first in range(0, 30, 10):
                column.write(np.arange(first, first + 10).reshape(5, 2))
            made = column.finish()
            assert made.tolist() == np.arange(30).reshape(15, 2).tolist()
            assert made.dtype == np.int32
            assert isinstance(made.base, np.memmap) == (memory == 1000)
