"""Tables in parts: the slots that filling one after the other gives, whatever the memory."""

import numpy as np
import pytest

from dragoman.core.slot_table import SlotTable
from dragoman.core.workspace import Workspace


def one_after_the_other(homes, slots):
    table = np.full(slots, -1)
    for number, home in enumerate(homes.tolist()):
        while table[home] >= 0:
            home = (home + 1) % slots
        table[home] = number
    return table


def filled(homes, slots, memory, tmp_path, columns=("number",)):
    with Workspace(memory, tmp_path) as workspace:
        table = SlotTable(workspace, "table", slots, number="number", rows=len(homes), bytes_per_row=16)
        for numbers in np.array_split(np.arange(len(homes)), 5):
            table.add(homes[numbers], {"number": numbers, "minus": -numbers})
        made = table.filled(columns, np.int64, free=-1)
        return made, isinstance(made.base, np.memmap)


@pytest.mark.parametrize("memory", [None, 10_000_000, 100_000, 30_000])
@pytest.mark.parametrize("low", [0, 200, 300])
def test_slots_are_those_of_one_go(memory, low, tmp_path):
    """Where many rows belong into the last slots, they run over the end, and over parts that they fill."""
    homes = np.random.default_rng(low).integers(low, 512, 350)
    found, mapped = filled(homes, 512, memory, tmp_path)
    assert found.tolist() == one_after_the_other(homes, 512).tolist()
    assert mapped == (memory is not None and memory < 1_000_000)
    assert list(tmp_path.iterdir()) == []


def test_what_runs_over_the_end_is_known_before_the_last_part_is(tmp_path):
    """The last part alone has room for its rows: only with those of the part before it do some run over the end."""
    homes = np.repeat(np.arange(64), [0] * 60 + [20, 1, 1, 1])
    for memory in (None, 1):
        found, _ = filled(homes, 64, memory, tmp_path)
        assert found.tolist() == one_after_the_other(homes, 64).tolist()


@pytest.mark.parametrize("memory", [None, 1])
def test_several_columns_and_no_rows(memory, tmp_path):
    found, _ = filled(np.array([2, 2]), 4, memory, tmp_path, ("number", "minus"))
    assert found.tolist() == [[-1, -1], [-1, -1], [0, 0], [1, -1]]
    assert filled(np.empty(0, np.int64), 1, memory, tmp_path)[0].tolist() == [-1]
