"""What an optimiser of decoded evidence is: a problem and a start in, weights out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.progress import ShareDone
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import TuningMethod
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Evidence, Problem, checked_start


@dataclass(frozen=True, eq=False)
class Optimum:
    """Weights and their value: the method's own objective (for MERT the metric, for PRO minus the loss)."""

    weights: NDArray[np.float64]
    objective: float
    #: What else is worth a place among a run's events.
    details: Mapping[str, int | float] = field(default_factory=dict)
    #: Other proposals, one row each: one that is not as good may be nearer, or lead on where nothing beats the start.
    others: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Tuner(TuningMethod):
    """A method that the loop of `loop.py` gives what it decodes, and its options."""

    takes_lists: ClassVar[bool] = True
    takes_hypergraphs: ClassVar[bool] = False
    #: The edges of hypergraphs that are kept by default, for each word of the best translation.
    density: ClassVar[float] = 20.0
    #: Whether hypergraphs are to hold all derivations of the references, as far as the model can write them.
    forces_references: ClassVar[bool] = False
    #: Whether it tunes the shares of mixed tables with the weights, and wants lists that know their pairs.
    tunes_shares: ClassVar[bool] = False
    #: Whether it is for models with mixed tables only.
    needs_shares: ClassVar[bool] = False
    #: The share of the new weights that the loop goes on with by default; the rest are those before.
    interpolation: ClassVar[float] = 1.0
    #: Whether the loop keeps new weights near the direction of those before; not where their size matters as well.
    is_held_back: ClassVar[bool] = True
    #: Whether it may go on where the evidence has no more to say, so that the loop stops as soon as that is reached.
    may_overshoot: ClassVar[bool] = False

    def optimise(
        self, problem: Any, start: NDArray[np.float64], *, rng: np.random.Generator, runtime: Runtime = Runtime()
    ) -> Optimum:
        """Return better weights, from `start`; neither argument is changed.

        The problem is a `Problem` for a method that takes lists, a `HypergraphProblem` for one that takes hypergraphs.
        """
        if isinstance(problem, Problem) and not self.takes_lists:
            raise UsageError(f"{self.name} works on hypergraphs only, and these are lists of candidates")
        if isinstance(problem, HypergraphProblem) and not self.takes_hypergraphs:
            raise UsageError(f"{self.name} works on lists of candidates only, and these are hypergraphs")
        return self.improve(problem, checked_start(problem, start), rng, runtime)

    @abstractmethod
    def improve(self, problem: Any, start: NDArray[np.float64], rng: np.random.Generator, runtime: Runtime) -> Optimum:
        """Do what `optimise` promises: the problem is of a kind that it takes, and the start a copy that fits it."""


def random_starts(
    problem: Evidence, start: NDArray[np.float64], count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The given start and `count` random ones, each weight uniform in its range: one row each."""
    low, high = problem.ranges[:, 0], problem.ranges[:, 1]
    return np.concatenate([start[None], rng.uniform(low, high, (count, len(low)))])


def best_of(optima: Iterable[Optimum], count: int, share_done: ShareDone) -> Optimum:
    """The best of `count` optima, the first of equally good ones, with all others; says of each that it is found."""
    found: list[Optimum] = []
    for optimum in optima:
        found.append(optimum)
        share_done(len(found) / count)
    best = max(found, key=lambda optimum: optimum.objective)
    return replace(best, others=np.array([optimum.weights for optimum in found if optimum is not best]))
