"""Steps uphill: by their formulas, for weights that turn up as they go."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.tuning.optimise.ascent import Adam, ExponentiatedGradient, GradientAscent, ascent_of

GRADIENTS = np.random.default_rng(1).normal(size=(6, 2))


def run(ascent, names=("a", "b")):
    return np.array([ascent.step(list(names), gradient, t + 1) for t, gradient in enumerate(GRADIENTS)])


@pytest.mark.parametrize(("limit", "most"), [(0.0, np.inf), (2.0, 2.0), (1.1, 1.1)])
def test_exponentiated_gradient_follows_its_equations(limit, most):
    """7.9 to 7.11 as printed, and with a limit of the factor."""
    rate, trace, steps = np.full(2, 0.5), np.zeros(2), []
    for gradient in GRADIENTS:
        rate = rate * np.clip(1 + 20.0 * gradient * trace, 0.1, most)
        trace = rate * gradient
        steps.append(trace)
    assert run(ExponentiatedGradient(0.5, 20.0, limit)) == pytest.approx(np.array(steps))
    assert (limit == 0) == (np.abs(run(ExponentiatedGradient(0.5, 20.0)) - np.array(steps)).max() < 1e-9)


def test_adam_follows_its_paper():
    m, v, steps = np.zeros(2), np.zeros(2), []
    for t, gradient in enumerate(GRADIENTS, 1):
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        steps.append(0.3 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8))
    assert run(Adam(0.3)) == pytest.approx(np.array(steps))


def test_plain_steps_are_gradients():
    assert run(GradientAscent(0.5)) == pytest.approx(0.5 * GRADIENTS)


@pytest.mark.parametrize("name", ["eg", "sgd", "adam"])
def test_each_weight_goes_its_own_way(name):
    together, apart = ascent_of(name, 0.5, 0.8), ascent_of(name, 0.5, 0.8)
    both = run(together)
    for t, gradient in enumerate(GRADIENTS):
        names = ["b", "a"] if t % 2 else ["a", "b"]
        step = apart.step(names, gradient[::-1] if t % 2 else gradient, t + 1)
        assert (step[::-1] if t % 2 else step) == pytest.approx(both[t])


@pytest.mark.parametrize("name", ["eg", "sgd", "adam"])
def test_what_is_remembered_can_be_saved(name):
    whole, first, second = (ascent_of(name, 0.5, 0.8) for _ in range(3))
    first.step(["a"], np.array([1.0]), 1)
    whole.step(["a"], np.array([1.0]), 1)
    second.restore(first.state())
    for ascent in (whole, second):
        ascent.step(["new", "a"], np.array([0.3, -0.2]), 2)
    expected = whole.step(["a", "new"], np.array([0.1, 0.2]), 3)
    assert second.step(["a", "new"], np.array([0.1, 0.2]), 3).tolist() == expected.tolist()
