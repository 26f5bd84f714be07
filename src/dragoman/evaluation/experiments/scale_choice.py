"""Choose the scales of decision rules on the tuning set, and summarise them over runs.

Tuned weights determine which derivation is best, and not how much better it is: a rule that uses probabilities needs a
scale for them, which may differ between methods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.feature_rows import Weights
from dragoman.core.options import read_toml
from dragoman.core.runtime import Runtime
from dragoman.decision.rule import Rule
from dragoman.decision.settings import GridPoint, best_point, grid_density, search_grid
from dragoman.evaluation.experiments.checksummed_files import FileRecord
from dragoman.evaluation.experiments.plan_parts import PlannedDecision
from dragoman.evaluation.statistics.intervals import geometric_mean, mean_sd
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.metric import Metric
from dragoman.model.bundle import Model
from dragoman.tuning.runs.job import Job

Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ChosenScale:
    """The scale of a decision for some weights, and the score of each scale on the tuning set."""

    scale: float
    scores: dict[float, float]

    @classmethod
    def read(cls, folder: Path, decision: PlannedDecision) -> ChosenScale:
        """Read the choice of `choose_scales` for a run."""
        file = FileRecord(folder).verified(_file(folder, decision))
        tuning: Any = read_toml(file).get("tuning")
        try:
            found = cls(float(tuning["scale"]), dict(zip(tuning["scales"], map(float, tuning["scores"]), strict=True)))
        except (LookupError, TypeError, ValueError):
            found = cls(0.0, {})
        if [*found.scores] != [*decision.scales] or found.scale not in found.scores:
            raise DataError("has other scales than the plan", path=file, expected="the same; remove it to choose again")
        return found


def choose_scales(
    job: Job, decisions: Sequence[PlannedDecision], weights: Weights, folder: Path, *, runtime: Runtime = Runtime()
) -> list[PlannedDecision]:
    """Return the decisions at the scales that are best for some weights; earlier choices are read from their files.

    Decisions with the same evidence share it: n-best lists and hypergraphs for all scales, samples at each scale. A
    choice is saved in `decisions/DECISION.toml`, a file that `dragoman translate --decision` takes; for samples it
    includes the temperature.
    """
    files = FileRecord(folder)
    missing = [d for d in decisions if d.scales and not files.has(_file(folder, d))]
    if missing:
        points = _points(job, missing, weights, runtime)
        for decision in missing:
            _write(job, folder, decision, points[decision])
    return [d.at(ChosenScale.read(folder, d).scale) if d.scales else d for d in decisions]


def _points(
    job: Job, decisions: Sequence[PlannedDecision], weights: Weights, runtime: Runtime
) -> dict[PlannedDecision, dict[float, GridPoint]]:
    model = Model.load(job.model)
    text = job.text(model)
    lines, references = text.lines, text.references
    translator = job.translator(model, weights, runtime=runtime)
    groups: dict[tuple[int, tuple[object, ...]], list[tuple[PlannedDecision, float]]] = {}
    for decision in decisions:
        count = min(decision.scale_lines or len(lines), len(lines))
        for scale in decision.scales:
            groups.setdefault((count, decision.at(scale).sees), []).append((decision, scale))
    found: dict[PlannedDecision, dict[float, GridPoint]] = {decision: {} for decision in decisions}
    for (count, _), group in groups.items():
        ready = [decision.at(scale) for decision, scale in group]
        rules: list[tuple[Rule, Options]] = [
            (candidate.decision.rule, (("scale", f"{scale:g}"),))
            for candidate, (_, scale) in zip(ready, group, strict=True)
        ]
        evidence = list(ready[0].gather(translator, lines[:count], seed=job.seed, density=grid_density(rules)))
        scorer = parse_metric(job.metric).scorer([reference.take(np.arange(count)) for reference in references])
        points = search_grid(rules, evidence, scorer, runtime=runtime)
        for (decision, scale), point in zip(group, points, strict=True):
            found[decision][scale] = point
    return found


def best_scale(points: Mapping[float, GridPoint], metric: Metric) -> float:
    """Return the scale with the best score; of equally good ones, the one closest to 1.

    Otherwise a flat curve would suggest that weights have to be rescaled.
    """
    nearest_first = sorted(points, key=lambda scale: abs(math.log(scale)))
    best = best_point([points[scale] for scale in nearest_first], metric)
    return next(scale for scale in nearest_first if points[scale] is best)


def _write(job: Job, folder: Path, decision: PlannedDecision, points: dict[float, GridPoint]) -> None:
    scale = best_scale(points, parse_metric(job.metric))
    chosen = decision.at(scale)
    tuning = {
        "metric": job.metric,
        "source": str(job.source),
        "scale": scale,
        "scales": list(decision.scales),
        "scores": [round(points[scale].score, 4) for scale in decision.scales],
        **({"lines": decision.scale_lines} if decision.scale_lines else {}),
    }
    settled = replace(chosen.decision, sampling=chosen.sampling) if chosen.by_samples else chosen.decision
    FileRecord(folder).write(_file(folder, decision), settled.format(tuning).encode())


def _file(folder: Path, decision: PlannedDecision) -> Path:
    return folder / "decisions" / f"{decision.folder}.toml"


@dataclass(frozen=True)
class ScaleSummary:
    """The scales chosen for all runs of a system, from the same candidates."""

    chosen: Sequence[ChosenScale]

    @property
    def lost(self) -> dict[float, NDArray[np.float64]]:
        """The difference of each run's score on the tuning set from the score at its best scale, by scale."""
        best = np.array([run.scores[run.scale] for run in self.chosen])
        return {scale: np.array([run.scores[scale] for run in self.chosen]) - best for scale in self.chosen[0].scores}

    @property
    def at_the_edge(self) -> int:
        """The number of runs that chose the smallest or largest scale, beyond which there may be better ones."""
        return sum(run.scale in (min(run.scores), max(run.scores)) for run in self.chosen)

    def row(self) -> tuple[str, str, str]:
        """Return the scales, the number at the edge, and the loss at scale 1 if that was a candidate."""
        lost = self.lost
        return (
            geometric_mean([run.scale for run in self.chosen]),
            f"{self.at_the_edge} of {len(self.chosen)} runs",
            mean_sd(lost[1.0]) if 1.0 in lost else "",
        )
