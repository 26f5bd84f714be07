"""Minimum risk training with sentence sampling: the mean expected gain of single sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dragoman.metrics.metric import Scorer
from dragoman.tuning.methods.risk_sampling import Estimate, RiskSampling
from dragoman.tuning.problems.sample_statistics import SampleStatistics


@dataclass(frozen=True)
class RiskSentence(RiskSampling):
    """Maximises the mean over sentences of E[gain(e)] + T · H(p), with p(e, d) ∝ exp(w · h) sampled (7.12).

    The gain is the smoothed sentence-level version of the metric. Its gradient is the covariance of features with
    gain - T · score (7.13; log p and the score differ by a constant), the mean over the sentences of a minibatch. The
    estimate is unbiased if samples are independent.

    Cost: sampling a minibatch for each update; the rest takes some per cent of that.
    """

    name: ClassVar[str] = "risk-sentence"

    def estimate(
        self, drawn: SampleStatistics, scorer: Scorer, sign: int, temperature: float, rng: np.random.Generator
    ) -> Estimate:
        """Estimate the gradient of equation 7.13, as a mean."""
        gains = sign * scorer.sentence_scores(drawn.statistics) / 100
        shares = drawn.covariance_shares(gains - temperature * drawn.scores) / len(drawn)
        return Estimate(float(drawn.probabilities @ gains) / len(drawn), shares)
