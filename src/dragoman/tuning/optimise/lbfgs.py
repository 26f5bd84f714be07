"""Maximising smooth functions of the weights by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runtime import Runtime

#: Something to maximise: its value and its gradient.
Differentiable = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]

#: SciPy's own.
TOLERANCE = 2.2e-9
#: SciPy's status of a search along a line that failed.
_FAILED = 2
#: A climb that ends early where the objective still rises by such a share of itself, or such a number, has failed.
_STILL_STEEP = 1e-3


def maximise(
    objective: Differentiable,
    start: NDArray[np.float64],
    iterations: int,
    tolerance: float = TOLERANCE,
    *,
    bounds: NDArray[np.float64] | None = None,
    runtime: Runtime = Runtime(),
) -> tuple[NDArray[np.float64], float]:
    """Climb by L-BFGS for at most so many iterations; returns where that ends and the objective there.

    `bounds` has the least and the largest value of each weight, a row each.

    It ends when a step gains less than `tolerance` times the objective. If it ends because no step gains anything where
    the slope says that one should, a warning says so; if there is no finite objective there, the start is returned.

    >>> weights, value = maximise(lambda w: (5 - float((w - 1) @ (w - 1)), 2 - 2 * w), np.array([3.0, 4.0]), 100)
    >>> weights.round(5).tolist(), round(value, 5)
    ([1.0, 1.0], 5.0)
    """

    def negated(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = objective(weights)
        return -value, -gradient

    from scipy.optimize import minimize

    limits = {"maxiter": iterations, "ftol": tolerance}
    found = minimize(negated, start, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
    if not np.isfinite(found.fun) or not np.isfinite(found.x).all():
        runtime.warn("L-BFGS came to weights without a finite objective; the weights that it began with stay")
        return start.astype(np.float64), float(objective(start)[0])
    if found.status == _FAILED and np.abs(found.jac).max(initial=0.0) > _STILL_STEEP * max(1.0, abs(found.fun)):
        runtime.warn(f"L-BFGS found no better weights after {found.nit:,} steps, though the objective still rises")
    return np.asarray(found.x, np.float64), -float(found.fun)
