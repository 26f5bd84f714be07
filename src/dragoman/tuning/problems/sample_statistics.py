"""Statistics of samples for minimum risk training: features, metric statistics, scores, and counts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import DocumentTrace, Samples
from dragoman.metrics.metric import Scorer

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SampleStatistics:
    """The samples of U units: distinct ones of unit `u` are rows `bounds[u]` to `bounds[u + 1]`.

    A unit is a sentence, or if the model has document features, a document, whose sentences were sampled together.
    Row `r` was drawn `counts[r]` times, has the model score `scores[r]`, `features.row(r)` and `statistics[r]`.
    """

    bounds: NDArray[np.int64]
    counts: NDArray[np.int64]
    scores: Vector
    features: FeatureRows
    statistics: Vector

    @classmethod
    def of(
        cls,
        samples: Samples,
        scorer: Scorer,
        sentences: NDArray[np.int64],
        weights: Weights,
        *,
        runtime: Runtime = Runtime(),
    ) -> SampleStatistics:
        """Compute the statistics of samples of the given sentences, under `weights`.

        Samples of models with document features need a trace, which tells what was sampled at the same time.
        """
        owners = np.repeat(sentences, np.diff(samples.sentences))
        statistics = scorer.statistics(Corpus(samples.vocab, samples.hypotheses), owners, runtime=runtime)
        counts = samples.counts.sum(axis=1)
        single = cls(samples.sentences, counts, samples.scores, samples.features, np.asarray(statistics, np.float64))
        return single if samples.documents is None else _of_documents(single, samples, samples.documents, weights)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def totals(self) -> NDArray[np.int64]:
        """The number of samples of each unit."""
        return np.add.reduceat(self.counts, self.bounds[:-1])

    @property
    def owners(self) -> NDArray[np.int64]:
        """The unit of each row."""
        return np.repeat(np.arange(len(self)), np.diff(self.bounds))

    @property
    def probabilities(self) -> Vector:
        """The relative frequency of each row among the samples of its unit."""
        return np.asarray(self.counts / self.totals[self.owners])

    @property
    def entropies(self) -> Vector:
        """The entropy of each unit's relative frequencies, in nats: at most the logarithm of its number of samples."""
        probabilities = self.probabilities
        return np.asarray(-np.add.reduceat(probabilities * np.log(probabilities), self.bounds[:-1]))

    def deviations(self, values: Vector) -> Vector:
        """Return the difference of each row's value from its unit's mean."""
        means = np.add.reduceat(self.probabilities * values, self.bounds[:-1])
        return np.asarray(values - means[self.owners])

    def covariance_shares(self, values: Vector) -> Vector:
        """Return factors of each row's features with which their sum is the covariance with the values.

        Summed over units; unbiased if samples are independent, with N - 1 degrees of freedom for N samples.
        """
        totals = self.totals
        free = totals / np.maximum(totals - 1, 1)
        return np.asarray(self.probabilities * self.deviations(values) * free[self.owners])

    def weighted_features(self, names: Sequence[str], shares: Vector) -> Vector:
        """Return the sum of all rows' features, each row times its factor, as a vector in the order of names."""
        rows = self.features.restricted(names)
        values = rows.values * np.repeat(shares, np.diff(rows.offsets))
        return np.bincount(rows.ids, values, minlength=len(names)).astype(np.float64)


def _of_documents(
    single: SampleStatistics, samples: Samples, documents: DocumentTrace, weights: Weights
) -> SampleStatistics:
    """Return documents as units: a sample is the sum of its sentences at one time, plus the document's own features."""
    assert samples.trace is not None
    chains, length = samples.trace.shape[1:]
    rows = (samples.trace + samples.sentences[:-1, None, None]).reshape(len(samples), -1)
    # All samples of a document one after the other, each a row of its sentences.
    pairs = list(itertools.pairwise(documents.bounds.tolist()))
    groups = np.concatenate([rows[begin:end].T.ravel() for begin, end in pairs])
    sizes = np.repeat(np.diff(documents.bounds), chains * length)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = documents.values.reshape(len(pairs) * chains * length, -1)
    own = FeatureRows.from_dense(documents.names, values)
    return SampleStatistics(
        bounds=np.arange(len(pairs) + 1) * (chains * length),
        counts=np.ones(len(sizes), np.int64),
        scores=np.add.reduceat(single.scores[groups], offsets[:-1]) + own.dot(weights),
        features=FeatureRows.join([single.features.sum_over(Ragged(groups.astype(np.int32), offsets)), own]),
        statistics=np.add.reduceat(single.statistics[groups], offsets[:-1], axis=0),
    )
