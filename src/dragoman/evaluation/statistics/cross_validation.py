"""Cross-validation of tuned reranking: the gain to expect on new lists, and what each feature contributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.significance import approximate_randomisation, confidence_interval, paired_bootstrap
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.runs.rerank import choices, tune_problem

Vector = NDArray[np.float64]
Rows = NDArray[np.int64]

#: Random choices that are averaged for the baseline.
_RANDOM_CHOICES = 20


@dataclass(frozen=True)
class FeatureLoss:
    """The score that is lost, in cross-validation, when a feature is left out."""

    name: str
    loss: float


@dataclass(frozen=True)
class CrossValidation:
    """Scores of choices, each sentence chosen by weights that were tuned without it.

    `gain` is the score of these choices minus that of the first candidates, `interval` its 95 % interval by paired
    bootstrap, and `p_value` by approximate randomisation. `optimistic` is the score of weights tuned on all sentences.
    """

    folds: int
    first: float
    random: float
    held_out: float
    optimistic: float
    oracle: float
    gain: float
    interval: tuple[float, float]
    p_value: float
    features: Sequence[FeatureLoss] = ()


def cross_validate(
    tuner: Tuner,
    problem: Problem,
    start: Vector,
    *,
    folds: int = 5,
    ablation: bool = False,
    seed: int = 1,
    runtime: Runtime = Runtime(),
) -> CrossValidation:
    """Tune on all folds but one, and choose in that one; with `ablation`, also without each feature in turn.

    Costs `folds` + 1 tunings, and `folds` more for each feature that is left out.
    """
    count = len(problem.sentences) - 1
    if not 2 <= folds <= count:
        raise DataError(
            f"there are {count} sentences for {folds} folds", expected="from 2 folds up to one per sentence"
        )
    rng = np.random.default_rng([seed, folds])
    fold_of = rng.permutation(np.arange(count) % folds)
    held_out = _held_out(tuner, problem, start, fold_of, seed, runtime)
    tuned = tune_problem(tuner, problem, start, seed=seed, runtime=runtime)
    picked = choices(problem, tuned)
    rows = [picked.first, held_out]
    sizes = np.diff(problem.sentences)
    randomly = [problem.sentences[:-1] + (rng.random(count) * sizes).astype(np.int64) for _ in range(_RANDOM_CHOICES)]
    higher = problem.sign > 0
    bootstrap = paired_bootstrap(
        problem.scorer, [problem.statistics[one] for one in rows], higher_is_better=higher, seed=seed
    )
    first, ours = (_score(problem, one) for one in rows)
    losses: list[FeatureLoss] = []
    if ablation and len(problem.names) > 1:
        for i, name in enumerate(problem.names):
            others = [j for j in range(len(problem.names)) if j != i]
            without = replace(
                problem,
                features=problem.features.restricted([problem.names[j] for j in others]),
                ranges=problem.ranges[others],
            )
            score = _score(problem, _held_out(tuner, without, start[others], fold_of, seed, runtime))
            losses.append(FeatureLoss(name, problem.sign * (ours - score)))
    return CrossValidation(
        folds=folds,
        first=first,
        random=float(np.mean([_score(problem, one) for one in randomly])),
        held_out=ours,
        optimistic=_score(problem, picked.tuned),
        oracle=_score(problem, picked.oracle),
        gain=ours - first,
        interval=confidence_interval(bootstrap.resampled[1] - bootstrap.resampled[0]),
        p_value=approximate_randomisation(problem.scorer, *(problem.statistics[one] for one in rows), seed=seed),
        features=sorted(losses, key=lambda one: -one.loss),
    )


def _held_out(tuner: Tuner, problem: Problem, start: Vector, fold_of: Rows, seed: int, runtime: Runtime) -> Rows:
    """Return the choice of each sentence by weights that were tuned on the other folds."""
    chosen = np.empty(len(fold_of), np.int64)
    folds = int(fold_of.max()) + 1
    with runtime.counter("cross-validation", folds, "folds") as progress:
        for fold in range(folds):
            others = problem_of_sentences(problem, np.flatnonzero(fold_of != fold))
            weights = tune_problem(tuner, others, start, seed=seed, runtime=runtime.quiet())
            own = fold_of == fold
            chosen[own] = problem.best(weights)[own]
            progress(1)
    return chosen


def problem_of_sentences(problem: Problem, picked: Rows) -> Problem:
    """Return the problem of some sentences only."""
    rows = Ragged(np.arange(int(problem.sentences[-1])), problem.sentences).take(picked)
    return replace(
        problem,
        sentences=rows.offsets,
        features=problem.features.take(rows.values),
        statistics=problem.statistics[rows.values],
    )


def _score(problem: Problem, rows: Rows) -> float:
    return float(problem.scorer.score(problem.statistics[rows].sum(axis=0)))
