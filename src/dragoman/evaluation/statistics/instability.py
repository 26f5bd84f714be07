"""How much a system's score varies: over runs of its optimiser, and over the choice of test sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.statistics.significance import bootstrap_scores
from dragoman.metrics.metric import Scorer


@dataclass(frozen=True)
class Instability:
    """The two standard deviations of Clark et al. (2011), and what they are about.

    `run_deviation` is the sample standard deviation of the runs' scores (not a number for a single run);
    `selection_deviation` is the bootstrap's, averaged over the runs.
    """

    scores: tuple[float, ...]
    mean: float
    run_deviation: float
    selection_deviation: float


def instability(scorer: Scorer, runs: NDArray[np.float64], *, resamples: int = 1000, seed: int = 0) -> Instability:
    """Measure the runs of one system, an array with axes run, sentence and column."""
    scores = scorer.score(runs.sum(axis=1))
    deviation = float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")
    resampled = bootstrap_scores(scorer, list(runs), resamples=resamples, seed=seed)
    selection = float(resampled.std(axis=1, ddof=1).mean()) if resamples > 1 else float("nan")
    return Instability(tuple(scores.tolist()), float(scores.mean()), deviation, selection)
