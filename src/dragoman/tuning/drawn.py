"""What minimum risk training keeps of samples: their features, statistics and scores, and how often each was drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.samples import Samples
from dragoman.metrics.metric import Scorer

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Drawn:
    """The samples of U sentences: distinct ones of sentence `u` are rows `bounds[u]` to `bounds[u + 1]`.

    Row `r` was drawn `counts[r]` times, has the model score `scores[r]`, `features.row(r)` and `statistics[r]`.
    """

    bounds: NDArray[np.int64]
    counts: NDArray[np.int64]
    scores: Vector
    features: FeatureRows
    statistics: Vector

    @classmethod
    def of(cls, samples: Samples, scorer: Scorer, sentences: NDArray[np.int64], *, threads: int = 1) -> Drawn:
        """Keep what is needed of samples of the given sentences, which may be any that the scorer knows."""
        owners = np.repeat(sentences, np.diff(samples.sentences))
        statistics = scorer.statistics(Corpus(samples.vocab, samples.hypotheses), owners, threads=threads)
        return cls(
            samples.sentences,
            samples.counts.sum(axis=1),
            samples.scores,
            samples.features,
            np.asarray(statistics, np.float64),
        )

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def totals(self) -> NDArray[np.int64]:
        """How many samples each sentence has."""
        return np.add.reduceat(self.counts, self.bounds[:-1])

    @property
    def owners(self) -> NDArray[np.int64]:
        """The sentence of each row."""
        return np.repeat(np.arange(len(self)), np.diff(self.bounds))

    @property
    def probabilities(self) -> Vector:
        """The share of its sentence's samples that each row has."""
        return np.asarray(self.counts / self.totals[self.owners])

    def deviations(self, values: Vector) -> Vector:
        """By how much each row's value differs from its sentence's mean."""
        means = np.add.reduceat(self.probabilities * values, self.bounds[:-1])
        return np.asarray(values - means[self.owners])

    def covariance_shares(self, values: Vector) -> Vector:
        """What each row's features must be multiplied by, so that the sum is the covariance with the values.

        Summed over sentences; without bias if samples are independent, N - 1 of N of them being free.
        """
        totals = self.totals
        free = totals / np.maximum(totals - 1, 1)
        return np.asarray(self.probabilities * self.deviations(values) * free[self.owners])

    def weighted_features(self, names: Sequence[str], shares: Vector) -> Vector:
        """The sum of all rows' features, each row times its share, as a vector in the order of names."""
        rows = self.features.restricted(names)
        values = rows.values * np.repeat(shares, np.diff(rows.offsets))
        return np.bincount(rows.ids, values, minlength=len(names)).astype(np.float64)
