"""Steps of a merge, which have as many pairs as fit; that tables are the same bytes is tested with `phrases`."""

import itertools

import numpy as np

from dragoman.core.spill import SpilledArrays
from dragoman.core.workspace import Workspace
from dragoman.training.merge import _PAIR, _SOURCE, _steps


def test_steps_fit_though_the_first_source_phrases_have_most_pairs(tmp_path):
    room, parts = 100_000, []
    with Workspace(1, tmp_path) as workspace:
        for number in range(2):
            firsts = np.arange(number, 1000, 2)
            sizes = np.where(firsts < 200, 6, 1)
            arrays = {"source_first": firsts, "first_pair": np.concatenate([[0], np.cumsum(sizes)])}
            parts.append(SpilledArrays(workspace, f"part-{number}", arrays))
        steps = list(_steps(parts, [part.map("source_first") for part in parts], room))
        costs = [
            sum(
                _SOURCE * (b - a) + _PAIR * int(np.diff(part.map("first_pair")[[a, b]])[0])
                for part, (a, b) in zip(parts, places, strict=True)
            )
            for places in steps
        ]
    assert max(costs) <= room
    assert min(costs[:-1]) > room / 2
    for one, other in itertools.pairwise(steps):
        assert [b for _, b in one] == [a for a, _ in other]
    assert steps[0][0][0] == steps[0][1][0] == 0
    assert steps[-1] == [(steps[-1][0][0], 500), (steps[-1][1][0], 500)]
