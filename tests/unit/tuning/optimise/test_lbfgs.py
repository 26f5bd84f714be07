import numpy as np
import pytest

from dragoman.core.progress import DragomanWarning
from dragoman.tuning.optimise.ascent import maximise


def test_an_objective_that_becomes_infinite_leaves_the_start():
    def objective(weights):
        return (1.0, np.ones(2)) if not weights.any() else (np.inf, np.ones(2))

    with pytest.warns(DragomanWarning, match="without a finite objective"):
        weights, value = maximise(objective, np.zeros(2), 10)
    assert (weights.tolist(), value) == ([0.0, 0.0], 1.0)


def test_a_slope_that_leads_nowhere_is_said():
    """The gradient says up, but no step gains anything."""
    with pytest.warns(DragomanWarning, match="found no better weights after 0 steps, though the gradient is not zero"):
        weights, _ = maximise(lambda w: (-float(np.abs(w).sum()), np.ones(2)), np.zeros(2), 10)
    assert weights.tolist() == [0.0, 0.0]


@pytest.mark.filterwarnings("error")
def test_arriving_or_running_out_of_iterations_is_no_failure():
    def objective(weights):
        return -float(weights @ weights), -2 * weights

    assert maximise(objective, np.array([3.0, 4.0]), 100)[0] == pytest.approx([0, 0], abs=1e-6)
    maximise(lambda w: (-float(((w - 1) ** 4).sum()), -4 * (w - 1) ** 3), np.array([30.0, 4.0]), 1)
