"""What partitions know of the same things, put together."""

import numpy as np

from dragoman.core.workspace import Workspace
from dragoman.training.partitions import ShuffleJoin


def test_each_partition_learns_what_all_know(tmp_path):
    random = np.random.default_rng(2)
    words = [random.permutation(40)[:size] for size in (1, 12, 30)]
    counts = [random.integers(1, 9, (len(part), 2)) for part in words]
    expected = np.zeros(40, np.int64)
    for part, some in zip(words, counts, strict=True):
        np.add.at(expected, part, some.sum(axis=1))

    def resolve(rows):
        found, number = np.unique(rows["word"], return_inverse=True)
        assert len(found) < 40 or memory is None
        return {"total": np.bincount(number, rows["count"]).astype(np.int64)[number]}

    for memory in (None, 1):
        with Workspace(memory, tmp_path) as workspace:
            join = ShuffleJoin(workspace, lambda rows: rows["word"] % 8, bytes_per_row=16, buckets=8)
            for part, some in zip(words, counts, strict=True):
                things = np.repeat(np.arange(len(part)), 2)  # each is requested twice
                join.request(things, {"word": part[things], "count": some.ravel()})
            shares = []
            join.resolve(resolve, shares.append)
            assert shares[-1] == 1
            for number, part in enumerate(words):
                assert join.read(number)["total"].tolist() == expected[part].tolist()
            join.close()
            assert list(workspace.folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == []
