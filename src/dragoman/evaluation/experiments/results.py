"""Results of an experiment, read from its folder: runs, their weights, systems and their scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.runtime import Runtime
from dragoman.evaluation.experiments.checksummed_files import FileRecord
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.plan import Method, Plan, TestSet
from dragoman.evaluation.experiments.plan_parts import PlannedDecision
from dragoman.evaluation.experiments.scale_choice import ChosenScale
from dragoman.evaluation.experiments.translations import final_name, translations_folder
from dragoman.evaluation.statistics.intervals import full_signature
from dragoman.evaluation.statistics.run_evidence import RunEvidence
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.metric import Metric, Scorer
from dragoman.metrics.references import read_references
from dragoman.model.bundle import Model
from dragoman.tuning.problems.problem import MOST_DENSE
from dragoman.tuning.runs.run import Run

Vector = NDArray[np.float64]

#: Fields of the loop in lines of `events.jsonl`; others are a method's own.
_OF_THE_LOOP = frozenset({"iteration", "step", "score", "candidates", "new", "objective", "stop", "seconds"})


class TuningResults:
    """The tuning runs of an experiment, finished or under way."""

    def __init__(self, experiment: Experiment):
        self._experiment = experiment
        self._plan = experiment.plan

    def run(self, method: Method, seed: int) -> Run:
        """Return the run of a method with a seed."""
        return Run(self._experiment.folder(method, seed))

    def runs(self, method: Method) -> list[Run]:
        """Return all runs of a method."""
        return [self.run(method, seed) for seed in self._plan.seeds]

    @cached_property
    def sign(self) -> int:
        """1, or -1 if lower is better."""
        return 1 if parse_metric(self._plan.metrics[0]).higher_is_better else -1

    def scores(self, method: Method) -> Vector:
        """Return the best score of each run on the tuning set."""
        return np.array(
            [self.sign * max(self.sign * event["score"] for event in run.events()) for run in self.runs(method)]
        )

    def unchanged(self, method: Method) -> NDArray[np.bool_]:
        """Return which runs ended with their initial weights, because they found nothing better."""
        return np.array([run.weights() == run.weights(0) for run in self.runs(method)], bool)

    def best_run(self, method: Method) -> Run:
        """Return the run with the best score on the tuning set."""
        return self.runs(method)[int(np.argmax(self.sign * self.scores(method)))]

    def seconds(self, method: Method) -> Vector:
        """Return the duration of each run in seconds."""
        return np.array([sum(record.total_seconds for record in run.records()) for run in self.runs(method)])

    def iterations(self, method: Method) -> NDArray[np.int64]:
        """Return the number of iterations of each run."""
        return np.array([len(run.events()) for run in self.runs(method)])

    def curve(self, method: Method) -> Vector:
        """Return scores on the tuning set before each iteration, a row per run; short runs repeat their last score."""
        return pad_rows([[event["score"] for event in run.events()] for run in self.runs(method)])

    def numbers(self, method: Method, key: str) -> list[Vector]:
        """Return the numbers that iterations report under a key, by run: rows of iteration and number."""
        found = [
            [(e["iteration"], e[key]) for e in run.events() if _is_number(e.get(key))] for run in self.runs(method)
        ]
        return [np.array(rows, np.float64).reshape(-1, 2) for rows in found]

    def own_numbers(self, method: Method) -> list[str]:
        """Return the keys of numbers that a method itself reports of its iterations, in their order."""
        events = [event for run in self.runs(method) for event in run.events()]
        keys = [key for event in events for key, value in event.items() if _is_number(value)]
        return [key for key in dict.fromkeys(keys) if key not in _OF_THE_LOOP]


def pad_rows(rows: Sequence[Sequence[float] | Vector]) -> Vector:
    """Return rows of unequal length as a matrix; short rows repeat their last value.

    >>> pad_rows([[1.0], [2.0, 3.0]]).tolist()
    [[1.0, 1.0], [2.0, 3.0]]
    """
    longest = max(map(len, rows))
    return np.array([[*row, *[row[-1]] * (longest - len(row))] for row in rows])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class WeightVectors:
    """Weights of runs as vectors of the tuned dense features."""

    def __init__(self, plan: Plan):
        self._plan = plan

    @cached_property
    def _models(self) -> dict[Path, Model]:
        """The models of all methods."""
        jobs = [self._plan.job_of(method) for method in self._plan.methods]
        return {path: Model.load(path) for path in dict.fromkeys(job.model for job in jobs)}

    @cached_property
    def names(self) -> list[str]:
        """The tuned dense features of all models."""
        return list(dict.fromkeys(name for model in self._models.values() for name in self._plan.job.tuned(model)))

    @property
    def all_dense(self) -> bool:
        """True if all features are dense, so that figures can show each of them."""
        return not any(model.sparse_prefixes for model in self._models.values()) and len(self.names) <= MOST_DENSE

    def scaled(self, weights: Weights) -> Vector:
        """Return the tuned weights as a vector whose absolute values sum to 1."""
        vector = weights.vector(self.names)
        return vector / max(float(np.abs(vector).sum()), 1e-300)

    def evidence(self, method: Method, run: Run, *, runtime: Runtime = Runtime()) -> RunEvidence | None:
        """Return the evidence that a run of a method saved, if it did; online methods do not.

        There is none either for a method that tunes interpolation weights, whose scores are no sums of features, or for
        a model that lacks features of the others.
        """
        job = self._plan.job_of(method)
        model = self._models[job.model]
        if not has_evidence(run) or job.mixes(model) or job.tuned(model) != self.names:
            return None
        return RunEvidence(run, job, runtime)


def has_evidence(run: Run) -> bool:
    """Return whether a run saved its decoded evidence."""
    return all(run.evidence(event["iteration"]).exists() for event in run.events())


UNTUNED = "untuned"


@dataclass(frozen=True)
class ExperimentSystem:
    """A method, or the initial weights, with a decision rule."""

    method: Method | None
    decision: PlannedDecision

    @property
    def method_name(self) -> str:
        """The method's name in tables."""
        return UNTUNED if self.method is None else self.method.name

    @property
    def name(self) -> str:
        """Method and decision, if the plan has decisions."""
        return " / ".join(filter(None, (self.method_name, self.decision.name)))


def systems_of(plan: Plan) -> list[ExperimentSystem]:
    """Return all systems of a plan: the untuned weights, then each method, with all decisions."""
    return [ExperimentSystem(method, decision) for method in (None, *plan.methods) for decision in plan.decisions]


@dataclass(frozen=True, eq=False)
class SystemStatistics:
    """All systems on one test set under one metric: statistics with axes translation, sentence and column.

    A system has a translation for each run, or if its decision is made several times, one for each run and decoding,
    those of a run in a row.
    """

    metric: Metric
    scorer: Scorer
    systems: dict[ExperimentSystem, NDArray[np.float64]]
    references: int = 1

    @property
    def signature(self) -> str:
        """The metric's signature, for text in the model's words."""
        return full_signature(self.metric, self.references, prepared=True)

    def scores(self, system: ExperimentSystem) -> Vector:
        """Return the score of each run of a system: the mean over its decodings, if there are several."""
        return np.asarray(self.decoding_scores(system).mean(axis=1))

    def decoding_scores(self, system: ExperimentSystem) -> Vector:
        """Return the score of each decoding: a row for each run."""
        scores = np.asarray(self.scorer.score(self.systems[system].sum(axis=1)))
        return scores.reshape(-1, system.decision.decodings)


class ExperimentTranslations:
    """The translations of an experiment, and their scores."""

    def __init__(self, experiment: Experiment, *, runtime: Runtime = Runtime()):
        self._experiment, self._plan = experiment, experiment.plan
        self._tuned = TuningResults(experiment)
        self._runtime = runtime

    def statistics(self, test: TestSet, metric: str) -> SystemStatistics:
        """Return the statistics of all systems on a test set, the untuned one first."""
        chosen = parse_metric(metric)
        references = self._references(test)
        scorer = chosen.scorer(references)
        return SystemStatistics(
            chosen,
            scorer,
            {
                system: np.stack(
                    [
                        self._statistics(folder, test, system.decision, final_name(i), scorer)
                        for folder in self._folders(system)
                        for i in range(1, system.decision.decodings + 1)
                    ]
                )
                for system in systems_of(self._plan)
            },
            len(references),
        )

    def _references(self, test: TestSet) -> list[Corpus]:
        """Return the references in the words of the model, like the translations."""
        job = self._plan.job
        return read_references(test.references, text=Model.load(job.model).preparation(prepared=job.prepared))

    def curve(self, method: Method, test: TestSet) -> Vector:
        """Return the score under the weights before each iteration, a row per run; short runs repeat their last score.

        The first decision translates.
        """
        scorer = parse_metric(self._plan.metrics[0]).scorer(self._references(test))
        first = self._plan.decisions[0]
        rows = []
        for run in self._tuned.runs(method):
            names = [f"{i:03}.txt" for i in range(len(run.events()))]
            parts = [self._statistics(run.folder, test, first, name, scorer) for name in names]
            rows.append(scorer.score(np.array([part.sum(axis=0) for part in parts])))
        return pad_rows(rows)

    def scales(self, system: ExperimentSystem) -> list[ChosenScale]:
        """Return the scale chosen for each run of a system, if its decision has scales to choose from."""
        return [ChosenScale.read(f, system.decision) for f in self._folders(system)] if system.decision.scales else []

    def _folders(self, system: ExperimentSystem) -> list[Path]:
        if system.method is None:
            return [self._experiment.untuned]
        return [run.folder for run in self._tuned.runs(system.method)]

    def _statistics(
        self, folder: Path, test: TestSet, decision: PlannedDecision, name: str, scorer: Scorer
    ) -> NDArray[np.float64]:
        file = FileRecord(folder).verified(translations_folder(folder, test, decision) / name)
        return scorer.statistics(Corpus.read(file), runtime=self._runtime)
