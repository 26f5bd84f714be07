"""What an optimiser of decoded evidence is: a problem and a start in, weights out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.progress import SILENT, Progress
from dragoman.tuning.methods.method import TuningMethod
from dragoman.tuning.problems.problem import Evidence


@dataclass(frozen=True, eq=False)
class Optimum:
    """Weights and their value: the method's own objective (for MERT the metric, for PRO minus the loss)."""

    weights: NDArray[np.float64]
    objective: float
    #: What else is worth a place among a run's events.
    details: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class Tuner(TuningMethod):
    """A method that the loop of `loop.py` gives what it decodes, and its options."""

    takes_lists: ClassVar[bool] = True
    takes_hypergraphs: ClassVar[bool] = False
    #: The edges of hypergraphs that are kept by default, for each word of the best translation.
    density: ClassVar[float] = 20.0
    #: Whether hypergraphs are to hold all derivations of the references, as far as the model can write them.
    forces_references: ClassVar[bool] = False
    #: The share of the new weights that the loop goes on with by default; the rest are those before.
    interpolation: ClassVar[float] = 1.0

    @abstractmethod
    def optimise(
        self,
        problem: Any,
        start: NDArray[np.float64],
        *,
        rng: np.random.Generator,
        threads: int = 1,
        progress: Progress = SILENT,
    ) -> Optimum:
        """Return better weights, from `start`; neither argument is changed.

        The problem is a `Problem` for a method that takes lists, a `HypergraphProblem` for one that takes hypergraphs.
        """


def random_starts(
    problem: Evidence, start: NDArray[np.float64], count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The given start and `count` random ones, each weight uniform in its range: one row each."""
    low, high = problem.ranges[:, 0], problem.ranges[:, 1]
    return np.concatenate([start[None], rng.uniform(low, high, (count, len(low)))])
