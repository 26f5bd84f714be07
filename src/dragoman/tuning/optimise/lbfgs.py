"""Maximising smooth functions of the weights by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: Something to maximise: its value and its gradient.
Differentiable = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]

#: SciPy's own.
TOLERANCE = 2.2e-9


def maximise(
    objective: Differentiable, start: NDArray[np.float64], iterations: int, tolerance: float = TOLERANCE
) -> tuple[NDArray[np.float64], float]:
    """Climb by L-BFGS for at most so many iterations; returns where that ends and the objective there.

    It ends when a step gains less than `tolerance` times the objective.

    >>> weights, value = maximise(lambda w: (5 - float((w - 1) @ (w - 1)), 2 - 2 * w), np.array([3.0, 4.0]), 100)
    >>> weights.round(5).tolist(), round(value, 5)
    ([1.0, 1.0], 5.0)
    """

    def negated(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = objective(weights)
        return -value, -gradient

    from scipy.optimize import minimize

    limits = {"maxiter": iterations, "ftol": tolerance}
    found = minimize(negated, start, jac=True, method="L-BFGS-B", options=limits)
    return np.asarray(found.x, np.float64), -float(found.fun)
