"""Systems side by side: their scores and deviations, and for each pair whether the difference means anything."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.statistics.holm import SIGNIFICANT, Correction, holm
from dragoman.evaluation.statistics.instability import instability
from dragoman.evaluation.statistics.significance import (
    approximate_randomisation,
    conclusive_shares,
    order_line,
    paired_bootstrap,
)
from dragoman.metrics.metric import Metric, Scorer


@dataclass(frozen=True)
class Resampling:
    """How often each test draws."""

    resamples: int = 1000
    trials: int = 10_000
    samples: int = 100
    sample_sizes: tuple[int, ...] = (300,)
    seed: int = 0
    #: How the p-values of the pairs are corrected for their number.
    correction: Correction = "none"


def compare_systems(
    metric: Metric, scorer: Scorer, names: Sequence[str], systems: Sequence[NDArray[np.float64]], how: Resampling
) -> dict[str, Any]:
    """Run all tests on the statistics (axes run, sentence, column) of some systems.

    Systems are the same if their statistics are, sentence by sentence, as those of identical translations. With a
    correction, pairs have corrected p-values beside the raw ones, and the order line goes by them.
    """
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
    pairs = []
    for a, b in itertools.combinations(bootstrap.order(), 2):
        pair: dict[str, Any] = {
            "better": names[a],
            "worse": names[b],
            "difference": float(bootstrap.scores[a] - bootstrap.scores[b]),
            "share_better": bootstrap.share_better(a, b),
            "p_bootstrap": bootstrap.p_value(a, b),
            "same": np.array_equal(systems[a], systems[b]),
            "conclusive": {str(size): [float(table[a, b]), float(table[b, a])] for size, table in shares.items()},
        }
        if how.trials:
            pair["p_randomisation"] = approximate_randomisation(
                scorer, systems[a], systems[b], trials=how.trials, seed=how.seed
            )
        pairs.append(pair)
    order = bootstrap.order_line(names, _same(pairs))
    if how.correction == "holm":
        pairs = with_holm(pairs)
        order = corrected_order(pairs)
    return {"systems": _scores(scorer, names, systems, how), "pairs": pairs, "order": order}


def with_holm(pairs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The pairs with p-values that are corrected for all tests of the same kind among them, beside the raw ones."""
    found = [dict(pair) for pair in pairs]
    for kind in ("p_bootstrap", "p_randomisation"):
        tested = [pair for pair in found if kind in pair]
        for pair, value in zip(tested, holm([pair[kind] for pair in tested]), strict=True):
            pair[f"{kind}_holm"] = value
    return found


def corrected_order(pairs: Sequence[Mapping[str, Any]]) -> str:
    """The order of some systems, of all pairs of which there are corrected p-values of the bootstrap."""
    p_values = {(pair["better"], pair["worse"]): pair["p_bootstrap_holm"] for pair in pairs}
    ranking = sorted({name for pair in p_values for name in pair}, key=lambda name: sum(name == b for _, b in p_values))
    return order_line(ranking, lambda better, worse: p_values[better, worse] <= SIGNIFICANT, _same(pairs))


def _same(pairs: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    return {(pair["better"], pair["worse"]) for pair in pairs if pair.get("same")}


def _scores(
    scorer: Scorer, names: Sequence[str], systems: Sequence[NDArray[np.float64]], how: Resampling
) -> list[dict[str, Any]]:
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
    return rows
