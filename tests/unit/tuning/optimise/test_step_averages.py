"""Averages over stretches of steps beside plain means of all weights."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.feature_rows import Weights
from dragoman.tuning.optimise.online import StepAverages

NAMES = ["a", "b", "new", "never"]


@pytest.mark.parametrize(("steps", "more"), [(16, 0), (11, 1), (3, 1), (1, 0)])
def test_means_are_those_of_all_weights_after_the_steps(steps, more):
    rng = np.random.default_rng(7)
    averages = StepAverages(Weights({"a": 1.0, "b": -2.0}), steps, parts=4)
    after = []
    for step in range(steps + more):
        names = rng.choice(["a", "b", "new"] if step else ["a", "b"], 2, replace=False)
        averages.step({str(name): float(rng.normal()) for name in names})
        after.append(averages.weights.vector(NAMES))
    np.testing.assert_allclose(averages.mean(NAMES), np.mean(after, axis=0), atol=1e-12)
    ends = [0, steps // 4, steps // 2, 3 * steps // 4, steps + more]
    for begin in range(4):
        for end in range(begin + 1, 5):
            assert averages.moves_within(begin, end) == (ends[end] > ends[begin])
            if ends[end] > ends[begin]:
                wanted = np.mean(after[ends[begin] : ends[end]], axis=0)
                np.testing.assert_allclose(averages.mean(NAMES, begin, end), wanted, atol=1e-12)


def test_without_steps_the_weights_are_the_average():
    averages = StepAverages(Weights({"a": 1.0}), 0, parts=4)
    assert averages.mean(["a"]).tolist() == [1.0]
    assert not averages.moves_within(0, 4)
