"""Optimisers of decoded evidence: a problem and a start in, weights out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.progress import ShareDone
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import TuningMethod
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Evidence, Problem, checked_start
from dragoman.tuning.runs.trust_region import TrustRegion


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
    """A method that optimises decoded evidence, and its options.

    The annotation of the `problem` of `improve` says what evidence it takes: a `Problem` (lists of candidates; so by
    default), a `MixtureProblem` (such of mixed tables, whose shares are tuned as well), a `HypergraphProblem`, a
    `ReferenceProblem` (such with all derivations of the references), or any of several.
    """

    #: How a run moves towards what the method proposes; None where the size of weights matters, and it goes there.
    region: ClassVar[TrustRegion | None] = TrustRegion()

    @classmethod
    def evidence(cls) -> tuple[type[Evidence], ...]:
        """The types of problems that the method takes."""
        return _annotated_evidence(cls)

    @classmethod
    def takes(cls, kind: type[Evidence]) -> bool:
        """Whether the method takes problems of a kind."""
        return any(issubclass(one, kind) for one in cls.evidence())

    def optimise(
        self, problem: Any, start: NDArray[np.float64], *, rng: np.random.Generator, runtime: Runtime = Runtime()
    ) -> Optimum:
        """Return better weights, from `start`; neither argument is changed."""
        if isinstance(problem, Problem) and not self.takes(Problem):
            raise UsageError(f"{self.name} works on hypergraphs only, and these are lists of candidates")
        if isinstance(problem, HypergraphProblem) and not self.takes(HypergraphProblem):
            raise UsageError(f"{self.name} works on lists of candidates only, and these are hypergraphs")
        return self.improve(self._fitted(problem), checked_start(problem, start), rng, runtime)

    def _fitted(self, problem: Any) -> Any:
        """The problem as one of the types that the method takes: plain evidence is a special case of the others."""
        if isinstance(problem, self.evidence()):
            return problem
        wanted = next(kind for kind in self.evidence() if issubclass(kind, type(problem)))
        return wanted(**{each.name: getattr(problem, each.name) for each in fields(problem)})

    @abstractmethod
    def improve(self, problem: Any, start: NDArray[np.float64], rng: np.random.Generator, runtime: Runtime) -> Optimum:
        """Do what `optimise` promises: the problem is of a kind that it takes, and the start a copy that fits it."""


@cache
def _annotated_evidence(tuner: type[Tuner]) -> tuple[type[Evidence], ...]:
    annotated = get_type_hints(tuner.improve).get("problem", Problem)
    return get_args(annotated) or (annotated,)


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
