"""Rows in partitions, merged keys and hash tables: the same whatever the memory."""

import numpy as np
import pytest

from dragoman.core.spill import ArrayBuilder, KeyLists, SlotTable, SpillBuffer, SpilledArrays, merge_steps
from dragoman.core.workspace import Workspace


def partition(memory, blocks, tmp_path, order="number"):
    with Workspace(memory, tmp_path) as workspace:
        buffer = SpillBuffer(workspace, "rows", lambda rows: rows["key"] % 16, bytes_per_row=8, buckets=16, order=order)
        first = 0
        for keys in blocks:
            number = np.arange(first, first + len(keys))
            first += len(keys)
            buffer.add({"key": keys, "number": number, "wide": np.stack([number, -number], axis=1)})
        written = buffer.is_on_disk
        return written, [part for part in buffer.partitions() if part]


@pytest.mark.parametrize("memory", [1, 64 * 8, 640 * 8, 6400 * 8, None])
def test_partitions_hold_every_row_once_and_in_order(memory, tmp_path):
    random = np.random.default_rng(1)
    blocks = [random.integers(0, 1000, size=size) for size in (0, 7, 150, 1, 300, 0, 42)]
    written, parts = partition(memory, blocks, tmp_path)
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
    assert partition(1, [np.empty(0, np.int64)], tmp_path) == (False, [])


def test_partitions_fit_as_far_as_buckets_do(tmp_path):
    _, parts = partition(8 * 40 * 8, [np.arange(80), np.arange(80)], tmp_path)
    assert [len(part["key"]) for part in parts] == [40, 40, 40, 40]


def test_as_many_parts_as_are_wanted_though_all_fits(tmp_path):
    with Workspace(None, tmp_path) as workspace:
        buffer = SpillBuffer(workspace, "rows", lambda rows: rows["key"] % 16, bytes_per_row=8, buckets=16)
        buffer.add({"key": np.arange(160)})
        assert [len(part["key"]) for part in buffer.partitions(4)] == [40, 40, 40, 40]


def test_spilled_arrays_are_read_back(tmp_path):
    with Workspace(1, tmp_path) as workspace:
        arrays = {"a": np.arange(7), "b": np.arange(6.0).reshape(3, 2), "c": np.empty(0, np.uint8)}
        spilled = SpilledArrays(workspace, "spilled", arrays)
        back = spilled.load()
        assert spilled.names() == ["a", "b", "c"] == list(back)
        assert all(
            np.array_equal(back[name], arrays[name]) and back[name].dtype == arrays[name].dtype for name in arrays
        )
        assert spilled.rows("b", 1, 3).tolist() == [[2, 3], [4, 5]]
        assert spilled.rows("a", 7, 7).tolist() == []
        spilled.discard()
        assert list(workspace.folder.iterdir()) == []


@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_a_merge_takes_every_row_once_and_in_order(most):
    random = np.random.default_rng(most)
    numbers = random.permutation(200)
    keys = [np.sort(part) for part in np.split(numbers, [3, 80, 80, 150])]
    found = []
    for places in merge_steps(keys, most):
        step = np.concatenate([key[a:b] for key, (a, b) in zip(keys, places, strict=True)])
        assert len(step) > 0
        found += sorted(step.tolist())
    assert found == list(range(200))


@pytest.mark.parametrize("memory", [None, 1 << 20, 1000])
def test_arrays_are_mapped_where_they_are_large(memory, tmp_path):
    with Workspace(memory, tmp_path) as workspace:
        for _ in range(2):  # a second one of the name leaves the first as it is
            builder = ArrayBuilder(workspace, "array", np.int32, 50, 2)
            for first in range(0, 30, 10):
                builder.write(np.arange(first, first + 10).reshape(5, 2))
            made = builder.finish()
            assert made.tolist() == np.arange(30).reshape(15, 2).tolist()
            assert made.dtype == np.int32
            assert isinstance(made.base, np.memmap) == (memory == 1000)


@pytest.mark.parametrize("max_rows", [1, 7, 1000])
def test_keys_are_numbered_in_their_order_and_every_list_knows_its_numbers(tmp_path, max_rows):
    random = np.random.default_rng(max_rows)
    lists = [np.unique(random.integers(0, 60, size)) for size in (0, 1, 30, 50)]
    everything = np.unique(np.concatenate(lists))
    with Workspace(1, tmp_path) as workspace:
        merging = KeyLists(workspace, "keys", lists)
        steps = list(merging.merge(max_rows, first=5))
        assert np.concatenate([step.keys for step in steps]).tolist() == everything.tolist()
        for step in steps:
            keys = np.concatenate([lists[i][a:b] for i, a, b in step.places])
            assert step.keys[step.rows].tolist() == keys.tolist()
            assert keys[step.first()].tolist() == step.keys.tolist()
        for i, keys in enumerate(lists):
            assert everything[merging.numbers(i) - 5].tolist() == keys.tolist()
        merging.discard()
        assert list(workspace.folder.iterdir()) == []


def one_after_the_other(homes, slots):
    table = np.full(slots, -1)
    for number, home in enumerate(homes.tolist()):
        while table[home] >= 0:
            home = (home + 1) % slots
        table[home] = number
    return table


def fill(homes, slots, memory, tmp_path, columns=("number",)):
    with Workspace(memory, tmp_path) as workspace:
        table = SlotTable(workspace, "table", slots, number="number", rows=len(homes), bytes_per_row=16)
        for numbers in np.array_split(np.arange(len(homes)), 5):
            table.add(homes[numbers], {"number": numbers, "minus": -numbers})
        made = table.fill(columns, np.int64, free=-1)
        return made, isinstance(made.base, np.memmap)


@pytest.mark.parametrize("memory", [None, 10_000_000, 100_000, 30_000])
@pytest.mark.parametrize("low", [0, 200, 300])
def test_slots_are_those_of_one_go(memory, low, tmp_path):
    """Where many rows belong into the last slots, they run over the end, and over parts that they fill."""
    homes = np.random.default_rng(low).integers(low, 512, 350)
    found, mapped = fill(homes, 512, memory, tmp_path)
    assert found.tolist() == one_after_the_other(homes, 512).tolist()
    assert mapped == (memory is not None and memory < 1_000_000)
    assert list(tmp_path.iterdir()) == []


def test_what_runs_over_the_end_is_known_before_the_last_part_is(tmp_path):
    """The last part alone has room for its rows: only with those of the part before it do some run over the end."""
    homes = np.repeat(np.arange(64), [0] * 60 + [20, 1, 1, 1])
    for memory in (None, 1):
        found, _ = fill(homes, 64, memory, tmp_path)
        assert found.tolist() == one_after_the_other(homes, 64).tolist()


@pytest.mark.parametrize("memory", [None, 1])
def test_several_columns_and_no_rows(memory, tmp_path):
    found, _ = fill(np.array([2, 2]), 4, memory, tmp_path, ("number", "minus"))
    assert found.tolist() == [[-1, -1], [-1, -1], [0, 0], [1, -1]]
    assert fill(np.empty(0, np.int64), 1, memory, tmp_path)[0].tolist() == [-1]
