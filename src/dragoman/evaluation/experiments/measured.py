"""What systems of an experiment score on test sets, read from the translations in its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.runtime import Runtime
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.kept_files import KeptFiles
from dragoman.evaluation.experiments.plan import Method, TestSet
from dragoman.evaluation.experiments.plan_decisions import PlannedDecision
from dragoman.evaluation.experiments.scale_choice import ChosenScale
from dragoman.evaluation.experiments.systems import System, systems_of
from dragoman.evaluation.experiments.translations import FINAL, translations_folder
from dragoman.evaluation.experiments.tuned import Tuned, aligned
from dragoman.evaluation.statistics.measured import full_signature
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.metric import Metric, Scorer
from dragoman.metrics.references import read_references
from dragoman.model.bundle import Model

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measured:
    """All systems on one test set under one metric: statistics with axes run, sentence and column."""

    metric: Metric
    scorer: Scorer
    systems: dict[System, NDArray[np.float64]]
    references: int = 1

    @property
    def signature(self) -> str:
        """How its scores were made, in the words of the model."""
        return full_signature(self.metric, self.references, prepared=True)

    def scores(self, system: System) -> Vector:
        """The score of each run of a system."""
        return np.asarray(self.scorer.score(self.systems[system].sum(axis=1)))


class Translated:
    """The translations of an experiment that has been carried out."""

    def __init__(self, experiment: Experiment, *, runtime: Runtime = Runtime()):
        self._experiment, self._plan = experiment, experiment.plan
        self._tuned = Tuned(experiment)
        self._runtime = runtime

    def measured(self, test: TestSet, metric: str) -> Measured:
        """All systems on a test set, the untuned one first."""
        chosen = parse_metric(metric)
        references = self._references(test)
        scorer = chosen.scorer(references)
        return Measured(
            chosen,
            scorer,
            {
                system: np.stack(
                    [self._statistics(f, test, system.decision, FINAL, scorer) for f in self._folders(system)]
                )
                for system in systems_of(self._plan)
            },
            len(references),
        )

    def _references(self, test: TestSet) -> list[Corpus]:
        """The references in the words of the model, like the translations."""
        job = self._plan.job
        return read_references(test.references, text=Model.load(job.model).preparation(prepared=job.prepared))

    def curve(self, method: Method, test: TestSet) -> Vector:
        """The score under the weights before each iteration: a row a run; a run that has ended stays where it is.

        Translations are those of the first decision.
        """
        scorer = parse_metric(self._plan.metrics[0]).scorer(self._references(test))
        first = self._plan.decisions[0]
        rows = []
        for run in self._tuned.runs(method):
            names = [f"{i:03}.txt" for i in range(len(run.events()))]
            parts = [self._statistics(run.folder, test, first, name, scorer) for name in names]
            rows.append(scorer.score(np.array([part.sum(axis=0) for part in parts])))
        return aligned(rows)

    def scales(self, system: System) -> list[ChosenScale]:
        """The scale that was chosen for each run of a system, if its decision has scales to choose from."""
        return [ChosenScale.read(f, system.decision) for f in self._folders(system)] if system.decision.scales else []

    def _folders(self, system: System) -> list[Path]:
        if system.method is None:
            return [self._experiment.untuned]
        return [run.folder for run in self._tuned.runs(system.method)]

    def _statistics(
        self, folder: Path, test: TestSet, decision: PlannedDecision, name: str, scorer: Scorer
    ) -> NDArray[np.float64]:
        file = KeptFiles(folder).verified(translations_folder(folder, test, decision) / name)
        return scorer.statistics(Corpus.read(file), runtime=self._runtime)
