"""Systems side by side: their scores and deviations, and for each pair whether the difference means anything."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.statistics.instability import instability
from dragoman.evaluation.statistics.significance import approximate_randomisation, conclusive_shares, paired_bootstrap
from dragoman.metrics.metric import Metric, Scorer


@dataclass(frozen=True)
class Resampling:
    """How often each test draws."""

    resamples: int = 1000
    trials: int = 10_000
    samples: int = 100
    sample_sizes: tuple[int, ...] = (300,)
    seed: int = 0


def compare_systems(
    metric: Metric, scorer: Scorer, names: Sequence[str], systems: Sequence[NDArray[np.float64]], how: Resampling
) -> dict[str, Any]:
    """Run all tests on the statistics (axes run, sentence, column) of some systems."""
    upward = metric.higher_is_better
    bootstrap = paired_bootstrap(scorer, systems, higher_is_better=upward, resamples=how.resamples, seed=how.seed)
    shares = {
        size: conclusive_shares(
            scorer,
            systems,
            size=size,
            higher_is_better=upward,
            samples=how.samples,
            resamples=how.resamples,
            seed=how.seed,
        )
        for size in how.sample_sizes
        if how.samples
    }
    rows = []
    for name, runs in zip(names, systems, strict=True):
        found = instability(scorer, runs, resamples=how.resamples, seed=how.seed)
        row = {
            "system": name,
            "score": found.mean,
            "runs": list(found.scores),
            "sd_sentences": found.selection_deviation,
        }
        rows.append(row | ({} if math.isnan(found.run_deviation) else {"sd_runs": found.run_deviation}))
    pairs = []
    for a, b in itertools.combinations(bootstrap.order(), 2):
        pair: dict[str, Any] = {
            "better": names[a],
            "worse": names[b],
            "difference": float(bootstrap.scores[a] - bootstrap.scores[b]),
            "share_better": bootstrap.share_better(a, b),
            "p_bootstrap": bootstrap.p_value(a, b),
            "conclusive": {str(size): [float(table[a, b]), float(table[b, a])] for size, table in shares.items()},
        }
        if how.trials:
            pair["p_randomisation"] = approximate_randomisation(
                scorer, systems[a], systems[b], trials=how.trials, seed=how.seed
            )
        pairs.append(pair)
    order = bootstrap.order_line(names)
    return {"systems": rows, "pairs": pairs, "order": order}
