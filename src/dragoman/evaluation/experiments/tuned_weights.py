"""The weights that the runs of an experiment ended with, and what its optimisers saw."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.evaluation.experiments.plan import Method, Plan
from dragoman.model.bundle import Model
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import MOST_DENSE, Problem
from dragoman.tuning.runs.run import Run

Vector = NDArray[np.float64]


class TunedWeights:
    """Looks at weights as vectors of the dense features that were tuned."""

    def __init__(self, plan: Plan):
        self._plan = plan

    @cached_property
    def _models(self) -> dict[Path, Model]:
        """The models of all methods."""
        jobs = [self._plan.job_of(method) for method in self._plan.methods]
        return {path: Model.load(path) for path in dict.fromkeys(job.model for job in jobs)}

    @cached_property
    def names(self) -> list[str]:
        """The dense features whose weights were chosen, of all models."""
        return list(dict.fromkeys(name for model in self._models.values() for name in self._plan.job.tuned(model)))

    @property
    def all_dense(self) -> bool:
        """Whether all features are dense, so that pictures can show each of them."""
        return not any(model.sparse_prefixes for model in self._models.values()) and len(self.names) <= MOST_DENSE

    def scaled(self, weights: Weights) -> Vector:
        """The tuned weights as a vector whose absolute values sum to 1."""
        vector = weights.vector(self.names)
        return vector / max(float(np.abs(vector).sum()), 1e-300)

    def last_problem(
        self, method: Method, run: Run, *, runtime: Runtime = Runtime()
    ) -> Problem | HypergraphProblem | None:
        """What the optimiser of a run saw last, if the run kept it; methods that learn from samples do not.

        Nor is there one of a method that tunes shares of mixed tables, whose scores are no sums of features, or of one
        whose model has not all the features of the others.
        """
        job = self._plan.job_of(method)
        model = self._models[job.model]
        if not kept_evidence(run) or job.mixes(model) or job.tuned(model) != self.names:
            return None
        return job.problem(model, run, runtime=runtime)


def kept_evidence(run: Run) -> bool:
    """Whether a run kept what it decoded."""
    return all(run.evidence(event["iteration"]).exists() for event in run.events())
