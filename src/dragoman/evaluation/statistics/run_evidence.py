"""The evidence that a tuning run has decoded, as one problem with all features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.files import PathLike
from dragoman.core.runtime import Runtime
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.references import read_references
from dragoman.model.bundle import Model
from dragoman.tuning.problems.evidence import DecodedGraphs, DecodedLists, DecodingResults
from dragoman.tuning.problems.fixed_score import FixedScore, fixed_weights
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Problem, best_rows
from dragoman.tuning.runs.batch_training import merged_iterations
from dragoman.tuning.runs.job import Job
from dragoman.tuning.runs.recorded_job import recorded_job
from dragoman.tuning.runs.run import Run


@dataclass(frozen=True, eq=False)
class RunEvidence:
    """All n-best lists or hypergraphs of a run, merged, and the weights that they were decoded with.

    Unlike an optimiser's problem, `problem` has every feature of the evidence, also those with fixed weights.
    """

    run: Run
    job: Job
    runtime: Runtime = Runtime()

    @classmethod
    def read(cls, folder: PathLike, *, runtime: Runtime = Runtime()) -> RunEvidence:
        """Read a run's folder; the model and the references must still be where they were."""
        run = Run(folder)
        return cls(run, recorded_job(run), runtime)

    @cached_property
    def _model(self) -> Model:
        model = Model.load(self.job.model)
        if self.job.mixes(model):
            raise UsageError(
                f"{self.run.folder}: tunes interpolation weights, whose scores are not sums of weighted features"
            )
        return model

    @cached_property
    def _merged(self) -> tuple[DecodingResults, list[NDArray[np.int64]]]:
        """The evidence of all iterations, and the lengths of merged lists after each."""
        _ = self._model
        kind = DecodedGraphs if self.run.options["decoding"]["evidence"] == "hypergraph" else DecodedLists
        found, sizes = None, []
        for found in merged_iterations(self.run, len(self.run.events()), kind):
            if isinstance(found, DecodedLists):
                sizes.append(np.diff(found.nbest.sentences))
        if found is None:
            raise DataError("has no iteration", path=self.run.folder, expected="a run that has begun")
        return found, sizes

    @property
    def pool(self) -> DecodingResults:
        """The merged lists or hypergraphs of all iterations."""
        return self._merged[0]

    @cached_property
    def problem(self) -> Problem | HypergraphProblem:
        """The merged evidence with all its features."""
        return self._problem(self.pool.names, FixedScore())

    def around(self, weights: Weights) -> tuple[Problem | HypergraphProblem, NDArray[np.float64]]:
        """Return the merged evidence with its tuned dense features, and weights as a vector for it.

        All other features, of which there may be thousands, are one column: their score under the weights.
        """
        there = set(self.pool.names)
        others = fixed_weights(weights, self.tuned)
        fixed = FixedScore(Weights({name: value for name, value in others.items() if name in there}))
        return self._problem(self.tuned, fixed), fixed.begin(weights, self.tuned) / self._size(weights)

    def _problem(self, names: Sequence[str], fixed: FixedScore) -> Problem | HypergraphProblem:
        references = read_references(self.job.references, text=self._model.preparation(prepared=self.job.prepared))
        metric = parse_metric(self.job.metric)
        return self.pool.problem(
            names,
            dict.fromkeys(names, (0.0, 0.0)),
            metric.scorer(references),
            sign=1 if metric.higher_is_better else -1,
            fixed=fixed,
            runtime=self.runtime,
        )

    @cached_property
    def tuned(self) -> list[str]:
        """The dense features of the evidence whose weights are tuned."""
        return [name for name in self.job.tuned(self._model) if name in set(self.pool.names)]

    def vector(self, weights: Weights) -> NDArray[np.float64]:
        """Return weights in the order of the problem, scaled so that the absolute values of the tuned ones sum to 1."""
        return weights.vector(self.problem.names) / self._size(weights)

    def _size(self, weights: Weights) -> float:
        return max(float(np.abs(weights.vector(self.tuned)).sum()), 1e-300)

    def list_scores(self) -> NDArray[np.float64] | None:
        """Return the metric on the merged lists after each iteration under its new weights (Schuth 2010, figure 7.1).

        The first score is that of the initial weights on the first lists. The last iteration, which only decodes with
        the final weights, has none. None for hypergraphs.
        """
        problem = self.problem
        if not isinstance(problem, Problem):
            return None
        events = zip(self.run.events(), self._merged[1], strict=True)
        sizes = [lengths for event, lengths in events if event.get("objective") is not None]
        # New candidates follow the earlier ones of their sentence.
        places = np.arange(problem.sentences[-1]) - np.repeat(problem.sentences[:-1], np.diff(problem.sentences))
        sums = []
        for iteration, lengths in zip(range(len(sizes) + 1), [self._merged[1][0], *sizes], strict=True):
            scores = problem.model_scores(self.vector(self.run.weights(iteration)))
            there = places < np.repeat(lengths, np.diff(problem.sentences))
            best = best_rows(np.where(there, scores, -np.inf), problem.sentences)
            sums.append(problem.statistics[best].sum(axis=0))
        return np.asarray(problem.scorer.score(np.array(sums)))
