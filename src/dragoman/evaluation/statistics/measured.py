"""One system's translations under one metric: statistics, score, interval and signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.significance import bootstrap_scores, confidence_interval
from dragoman.metrics.metric import Metric, Scorer


@dataclass(frozen=True, eq=False)
class Measured:
    """One system's statistics under one metric.

    `label` is the metric as the user wrote it, `note` says what was chosen for it.
    """

    system: str
    label: str
    metric: Metric
    scorer: Scorer
    statistics: NDArray[np.float64]
    note: str | None = None

    @property
    def score(self) -> float:
        """The metric of the whole text."""
        return float(self.scorer.score(self.statistics.sum(axis=0)))

    def summary(self, references: int, resamples: int, seed: int, *, prepared: bool = False) -> dict[str, object]:
        """Return the score, its interval, and how it was made."""
        result: dict[str, object] = {
            "system": self.system,
            "metric": self.label,
            "score": self.score,
            **self.scorer.details(self.statistics.sum(axis=0)),
        }
        if resamples and len(self.statistics):
            resampled = bootstrap_scores(self.scorer, [self.statistics], resamples=resamples, seed=seed)
            result["interval"] = list(confidence_interval(resampled[0]))
        signature = full_signature(self.metric, references, resamples, seed, prepared=prepared)
        return {**result, "signature": signature} | ({} if self.note is None else {"note": self.note})


def full_signature(
    metric: Metric, references: int | None, resamples: int = 0, seed: int = 0, *, prepared: bool = False
) -> str:
    """Return a metric's signature with the number of references, the kind of text and the resampling in it.

    Text is `prepared` if both sides are in the words of a model; otherwise it is as it was given, which goes unsaid.
    """
    name, _, rest = metric.signature().partition("|")
    known = "" if references is None else f"|nrefs:{references}"
    resampled = f"|bs:{resamples}|seed:{seed}" if resamples else ""
    return f"{name}{known}{'|text:prepared' if prepared else ''}|{rest}{resampled}"


def measure(
    metric: Metric,
    label: str,
    references: Sequence[Corpus],
    system: str,
    hypotheses: Corpus,
    *,
    note: str | None = None,
    runtime: Runtime = Runtime(),
) -> Measured:
    """Compute the statistics of one system's translations."""
    chosen = metric.for_system(system)
    scorer = chosen.scorer(references)
    return Measured(system, label, chosen, scorer, scorer.statistics(hypotheses, runtime=runtime), note)
