"""Metrics: a vector of statistics for each hypothesis, which add up over sentences, and a score of the sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import version
from dragoman.core.options import Options
from dragoman.core.runtime import Runtime


class Scorer(ABC):
    """A metric with its references. Scores are on the metric's usual scale (BLEU: 0 to 100)."""

    #: Where BLEU's counts are in the statistics, if the score is BLEU's: matches of each order, totals of each order,
    #: length, reference length. Kernels that score sums by the million compute it themselves then.
    bleu_columns: NDArray[np.int64] | None = None

    @abstractmethod
    def statistics(
        self, hypotheses: Corpus, sentences: NDArray[np.int64] | None = None, *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return one row of statistics for each hypothesis.

        `sentences` has the sentence of each hypothesis; by default hypothesis i translates sentence i.
        """

    @abstractmethod
    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score sums of statistics: the last axis is the statistics, the others are kept (also none)."""

    def details(self, statistics: NDArray[np.float64]) -> dict[str, object]:
        """Return further values of one sum of statistics, by name."""
        return {}

    def sentence_scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score single sentences, smoothed where the metric needs that."""
        return self.score(statistics)


class MeanScorer(Scorer):
    """A mean of sentence scores. Statistics are a summand and a divisor, which is 1 where sentences count the same."""

    scale = 1.0

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score sums of statistics."""
        summed, divisor = statistics[..., 0], statistics[..., 1]
        return np.asarray(self.scale * (summed / np.where(divisor != 0, divisor, 1.0)))

    def smooth_score(self, statistics: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Score one sum of statistics, and return the derivatives with respect to them."""
        summed, divisor = statistics.tolist()
        divisor = divisor or 1.0
        return self.scale * summed / divisor, self.scale * np.array([1.0, -summed / divisor]) / divisor


@dataclass(frozen=True)
class Metric(Options, ABC):
    """A metric and its options."""

    name: ClassVar[str]

    @property
    def higher_is_better(self) -> bool:
        """True if a higher score is better."""
        return True

    @property
    def digits(self) -> int:
        """The decimals of a score that are worth reading: 2, or more for metrics on a scale from 0 to 1."""
        return 2

    @abstractmethod
    def scorer(self, references: Sequence[Corpus]) -> Scorer:
        """Bind references: each has one translation of every sentence, and all have the same number of lines."""

    @abstractmethod
    def signature(self) -> str:
        """Return the settings that reproduce the score."""

    def for_system(self, system: str) -> Self:
        """Return the metric for hypotheses of that name; only metrics that read a file for each system differ."""
        return self


SACREBLEU = f"sacrebleu-{metadata.version('sacrebleu')}"
"""Named in signatures of settings whose scores equal sacreBLEU's."""


def signature(metric: str, **settings: object) -> str:
    """Join a metric's settings as `name|key:value|…|version:…`; settings that are None are left out.

    >>> signature("wer", case="mixed", beta=None).rpartition("|")[0]
    'wer|case:mixed'
    """
    shown = [f"{key}:{_text(value)}" for key, value in settings.items() if value is not None]
    return "|".join([metric, *shown, f"version:dragoman-{version()}"])


def _text(value: object) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
