"""Gradient ascent: along noisy gradients (exponentiated gradient, plain, Adam), and by L-BFGS."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.runtime import Runtime

Vector = NDArray[np.float64]
AscentName = Literal["eg", "sgd", "adam"]

#: Smallest factor of a learning rate in one step (7.10).
_LEAST = 0.1

_NAMES = "ascent_names"


class Ascent(ABC):
    """Steps for a growing set of weights, with a row of memory for each weight, by name."""

    #: The memory of a new weight.
    fresh: tuple[float, ...]

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._memory = np.empty((0, len(self.fresh)))

    @abstractmethod
    def _step(self, gradient: Vector, memory: Vector, update: int) -> Vector:
        """Return the change of the weights; `memory`, a row per weight, is changed in place."""

    def step(self, names: Sequence[str], gradient: Vector, update: int) -> Vector:
        """Return the change of the weights `names` in update number `update`, counted from 1."""
        for name in names:
            self._rows.setdefault(name, len(self._rows))
        new = len(self._rows) - len(self._memory)
        self._memory = np.concatenate([self._memory, np.full((new, len(self.fresh)), self.fresh)])
        rows = np.array([self._rows[name] for name in names], np.int64)
        memory = self._memory[rows]
        step = self._step(gradient, memory, update)
        self._memory[rows] = memory
        return step

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the memory as arrays to save."""
        return {_NAMES: np.array(list(self._rows), np.str_), "ascent_memory": self._memory}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `state` returned."""
        self._rows = {str(name): row for row, name in enumerate(state[_NAMES].reshape(-1))}
        self._memory = state["ascent_memory"].astype(np.float64)
        if self._memory.shape != (len(self._rows), len(self.fresh)) or not np.isfinite(self._memory).all():
            raise DataError("the saved state has another memory", expected=f"{len(self.fresh)} numbers per weight")


class ExponentiatedGradient(Ascent):
    """Each weight has a learning rate, which grows while its gradient keeps its sign and falls when it changes.

    Equations 7.9 to 7.11 of Arun's thesis, after Schraudolph (1999): with the trace v of the last step,

        rate ← rate · max(0.1, 1 + mu · gradient · v),  weight ← weight + rate · gradient,  v ← rate · gradient.

    If `max_growth` is not 0, the factor is at most that, so that one large gradient does not undo all others; the
    thesis has no such limit.
    """

    def __init__(self, rate: float, meta_rate: float, max_growth: float = 0.0) -> None:
        self.fresh = (rate, 0.0)
        self._meta_rate, self._max_growth = meta_rate, max_growth or np.inf
        super().__init__()

    def _step(self, gradient: Vector, memory: Vector, update: int) -> Vector:
        memory[:, 0] *= np.clip(1 + self._meta_rate * gradient * memory[:, 1], _LEAST, self._max_growth)
        memory[:, 1] = memory[:, 0] * gradient
        return memory[:, 1].copy()


class GradientAscent(Ascent):
    """Adds the gradient times a rate."""

    fresh = ()

    def __init__(self, rate: float) -> None:
        self._rate = rate
        super().__init__()

    def _step(self, gradient: Vector, memory: Vector, update: int) -> Vector:
        return self._rate * gradient


class Adam(Ascent):
    """Kingma and Ba (2015), with their decay rates; a weight that a gradient lacks keeps its moments."""

    fresh = (0.0, 0.0)
    _first, _second, _epsilon = 0.9, 0.999, 1e-8

    def __init__(self, rate: float) -> None:
        self._rate = rate
        super().__init__()

    def _step(self, gradient: Vector, memory: Vector, update: int) -> Vector:
        memory[:, 0] += (1 - self._first) * (gradient - memory[:, 0])
        memory[:, 1] += (1 - self._second) * (gradient**2 - memory[:, 1])
        mean = memory[:, 0] / (1 - self._first**update)
        square = memory[:, 1] / (1 - self._second**update)
        return self._rate * mean / (np.sqrt(square) + self._epsilon)


def ascent_of(name: AscentName, rate: float, meta_rate: float, max_growth: float = 0.0) -> Ascent:
    """Return the ascent of a name; the last two numbers are for exponentiated gradient."""
    if name == "eg":
        return ExponentiatedGradient(rate, meta_rate, max_growth)
    return GradientAscent(rate) if name == "sgd" else Adam(rate)


#: A function to maximise: its value and its gradient.
Differentiable = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]

#: SciPy's default.
TOLERANCE = 2.2e-9
#: SciPy's status of a search along a line that failed.
_FAILED = 2
#: Relative (or absolute) slope of the objective above which a climb that ends early has failed.
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
    """Climb by L-BFGS for at most `iterations`; return the last weights and their objective.

    `bounds` has the least and the largest value of each weight, a row each.

    It ends when a step gains less than `tolerance` times the objective. A warning is given if no step gains anything
    although the gradient is not zero. If the last objective is not finite, the start is returned.

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
        runtime.warn("L-BFGS reached weights without a finite objective; the start is kept")
        return start.astype(np.float64), float(objective(start)[0])
    if found.status == _FAILED and np.abs(found.jac).max(initial=0.0) > _STILL_STEEP * max(1.0, abs(found.fun)):
        runtime.warn(f"L-BFGS found no better weights after {found.nit:,} steps, though the gradient is not zero")
    return np.asarray(found.x, np.float64), -float(found.fun)
