"""Lists of rising keys, merged on disk, beside a merge in memory."""

import numpy as np
import pytest

from dragoman.core.spill import KeyLists
from dragoman.core.workspace import Workspace


@pytest.mark.parametrize("most_rows", [1, 7, 1000])
def test_keys_are_numbered_in_their_order_and_every_list_knows_its_numbers(tmp_path, most_rows):
    random = np.random.default_rng(most_rows)
    lists = [np.unique(random.integers(0, 60, size)) for size in (0, 1, 30, 50)]
    everything = np.unique(np.concatenate(lists))
    with Workspace(1, tmp_path) as workspace:
        merging = KeyLists(workspace, "keys", lists)
        steps = list(merging.merge(most_rows, first=5))
        assert np.concatenate([step.found for step in steps]).tolist() == everything.tolist()
        for step in steps:
            keys = np.concatenate([lists[i][a:b] for i, a, b in step.places])
            assert step.found[step.rows].tolist() == keys.tolist()
            assert keys[step.first()].tolist() == step.found.tolist()
        for i, keys in enumerate(lists):
            assert everything[merging.numbers(i) - 5].tolist() == keys.tolist()
        merging.discard()
        assert list(workspace.folder.iterdir()) == []
