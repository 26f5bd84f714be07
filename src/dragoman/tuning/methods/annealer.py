"""Minimum risk annealing, the common part of the risk methods (Smith & Eisner 2006)."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import Optimum, Tuner
from dragoman.tuning.optimise.ascent import TOLERANCE, Differentiable, maximise


class Risk(Protocol):
    """The expected gain under p ∝ exp(gamma w · features), plus a multiple of the entropy."""

    def __call__(
        self, weights: NDArray[np.float64], /, gamma: float, temperature: float
    ) -> tuple[float, NDArray[np.float64]]:
        """Return expected gain + temperature · mean entropy in nats, and the derivatives by the weights."""


@dataclass(frozen=True)
class Annealer(Tuner, ABC):
    """Maximises an expected gain under a distribution that is warm at first and cold at the end.

    Two phases, each step from the weights of the last: annealing, gamma = 1, in which the temperature T falls from
    `temperature` to `coldest` by a factor `cooling` a step and w is free, so that T decides how sharp the distribution
    is; and quenching, T = 0, in which the length of w is fixed and gamma doubles, so that the distribution
    closes in on the best candidates. The length of w is fixed there because otherwise gamma would have no effect.
    """

    #: The tolerance at which a step of annealing has converged, see `maximise`.
    tolerance: ClassVar[float] = TOLERANCE

    temperature: float = option(
        10.0, "worth of a nat of entropy a sentence at first, in points of the metric", minimum=0
    )
    coldest: float = option(1.0, "worth of entropy at the end of annealing", minimum=0)
    cooling: float = option(0.5, "factor by which the temperature falls", minimum=0.01, maximum=0.99)
    doublings: int = option(8, "number of times that gamma is doubled after annealing", minimum=0)
    iterations: int = option(100, "maximum iterations of L-BFGS for each temperature and gamma", minimum=1)

    def schedule(self) -> list[tuple[float, float]]:
        """Return the pairs of gamma and temperature, in order."""
        temperatures, temperature = [], self.temperature
        while temperature > self.coldest:
            temperatures.append(temperature)
            temperature *= self.cooling
        annealing = [(1.0, temperature) for temperature in [*temperatures, self.coldest]]
        return annealing + [(2.0**i, 0.0) for i in range(1, self.doublings + 1)]

    def anneal(
        self,
        risk: Risk,
        start: NDArray[np.float64],
        *,
        bounds: NDArray[np.float64] | None = None,
        others: NDArray[np.bool_] | None = None,
        runtime: Runtime = Runtime(),
    ) -> Optimum:
        """Anneal, then quench.

        `bounds` has the least and the largest value of each weight. `others` flags variables that are optimised with
        the weights but are not weights: gamma does not scale them, and they do not count in the length.
        """
        schedule, limits = self.schedule(), (self.iterations, self.tolerance)
        weights, length, value = start.astype(np.float64), 0.0, 0.0
        weighed = np.ones(len(start), bool) if others is None else ~others
        climb = partial(maximise, bounds=bounds)
        # At a large gamma the objective is a step function, on which climbs fail: that is no reason to warn.
        quenching = runtime.quiet(warns=False)
        with runtime.stage("annealing") as progress_callback:
            for step, (gamma, temperature) in enumerate(schedule):
                objective = partial(risk, gamma=gamma, temperature=temperature)
                if gamma == 1:
                    weights, value = climb(objective, weights, *limits, runtime=runtime)
                    length = float(np.linalg.norm(weights[weighed]))
                elif length > 0:
                    on_sphere = _on_sphere(objective, length, weighed)
                    weights, value = climb(on_sphere, weights, *limits, runtime=quenching)
                    weights[weighed] *= length / np.linalg.norm(weights[weighed])
                progress_callback((step + 1) / len(schedule))
        if length == 0:
            runtime.warn("no direction of the weights improves the expected score; they stay 0")
        return Optimum(weights, value)


def _on_sphere(objective: Differentiable, length: float, weighed: NDArray[np.bool_]) -> Differentiable:
    """Return the objective as a function of the direction of weights, at a given length, and of other variables."""

    def directed(vector: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        norm = float(np.linalg.norm(vector[weighed]))
        direction = vector[weighed] / norm
        there = vector.copy()
        there[weighed] = length * direction
        value, gradient = objective(there)
        along = gradient[weighed]
        gradient[weighed] = length / norm * (along - (along @ direction) * direction)
        return value, gradient

    return directed
