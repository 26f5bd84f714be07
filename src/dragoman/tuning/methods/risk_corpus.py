"""Minimum risk training with corpus sampling: the expected metric of a whole minibatch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.metrics.metric import Scorer
from dragoman.tuning.methods.risk_sampling import PAPER, Estimate, RiskSampling
from dragoman.tuning.problems.sample_statistics import SampleStatistics

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class RiskCorpus(RiskSampling):
    """Maximises E[metric of the minibatch] + T · (mean entropy of its sentences), with p(e, d) ∝ exp(w · h) (7.17).

    A corpus sample takes one sample of each sentence, drawn again from those that the chains collected; its gain is the
    metric of the summed statistics. The gradient is the covariance of a corpus sample's gain with its features, which
    are sums over sentences.

    Of n corpus samples alone the covariance would be noisy, as the gain of one depends on all sentences. So the gain is
    split into its linear part around the expected statistics, whose covariance within each sentence needs no corpus
    samples, and the rest, which is small. That changes the noise, not the expectation: it is unbiased if samples are
    independent.

    Cost: sampling a minibatch for each update, and the metric of `corpus_samples` corpora.

    Arun's thesis, 7.4. There the features of a corpus are means over its sentences (7.16, `corpus_features=mean`), but
    the entropy's gradient is the same, as if the temperature were higher by the number of sentences. `preset=paper` has
    its settings: those of `risk-sentence`, but minibatches of 160 (its size for French; 96 for German, 400 for Arabic),
    2,000 corpora, a temperature that falls by 0.8 every 10 updates, and a checkpoint every 20. Departures, of the
    preset, too: the split of the gain, covariances that are divided by N - 1, and the entropy's gradient as derived
    (7.17 as printed multiplies by p twice).
    """

    name: ClassVar[str] = "risk-corpus"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **PAPER,
            "corpus_features": "mean",
            "corpus_samples": 2000,
            "minibatch": 160,
            "decay": 0.8,
            "updates_per_temperature": 10,
            "evaluate_every": 20,
        },
    }

    corpus_samples: int = option(200, "corpora resampled per update", minimum=2)
    corpus_features: Literal["sum", "mean"] = option(
        "sum", "features of a corpus: the sum over its sentences, as its score has them, or their mean (7.16)"
    )

    def estimate(
        self, drawn: SampleStatistics, scorer: Scorer, sign: int, temperature: float, rng: np.random.Generator
    ) -> Estimate:
        """Estimate the gradient of equation 7.17."""
        scale = 1.0 if self.corpus_features == "sum" else 1 / len(drawn)
        expected = drawn.probabilities @ drawn.statistics
        slopes = sign * _slopes(scorer, expected) / 100
        linear = drawn.statistics @ slopes
        rows = resample_corpora(drawn, self.corpus_samples, rng)
        gains = sign * scorer.score(drawn.statistics[rows].sum(axis=0)) / 100
        rest = gains - linear[rows].sum(axis=0)
        shares = drawn.covariance_shares(scale * linear - temperature / len(drawn) * self.log_probabilities(drawn))
        shares += resampled_shares(drawn, rows, scale * rest)
        return Estimate(float(gains.mean()), shares)


def resample_corpora(drawn: SampleStatistics, corpora: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw samples of each sentence with replacement: a row per sentence, a column per corpus."""
    ends = np.cumsum(drawn.counts)
    totals = drawn.totals[:, None]
    drawn_numbers = np.floor(rng.random((len(drawn), corpora)) * totals).astype(np.int64)
    before = ends[drawn.bounds[1:] - 1][:, None] - totals
    return np.searchsorted(ends, before + drawn_numbers, side="right")


def resampled_shares(drawn: SampleStatistics, rows: NDArray[np.int64], gains: Vector) -> Vector:
    """Return factors of each row's features with which their sum is the covariance with the gains of corpora."""
    corpora = rows.shape[1]
    deviations = np.broadcast_to(gains - gains.mean(), rows.shape)
    shares = np.bincount(rows.ravel(), deviations.ravel(), minlength=len(drawn.counts)) / (corpora - 1)
    totals = drawn.totals
    # Each sentence's samples are independent, not the corpora that are drawn from them.
    return np.asarray(shares * (totals / np.maximum(totals - 1, 1))[drawn.owners])


def _slopes(scorer: Scorer, statistics: Vector) -> Vector:
    """Return the derivatives of the score by sums of statistics, from central differences."""
    steps = np.maximum(np.abs(statistics) * 1e-3, 1e-3)
    ends = statistics + np.array([1.0, -1.0])[:, None, None] * np.diag(steps)
    above, below = scorer.score(np.maximum(ends, 0))
    return np.asarray((above - below) / (2 * steps))
