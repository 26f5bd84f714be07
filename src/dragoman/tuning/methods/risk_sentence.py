"""Minimum risk training with sentence sampling: the mean expected gain of single sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dragoman.core.options import option
from dragoman.metrics.metric import Scorer
from dragoman.tuning.methods.risk_sampling import PAPER, Estimate, RiskSampling
from dragoman.tuning.problems.sample_statistics import SampleStatistics


@dataclass(frozen=True)
class RiskSentence(RiskSampling):
    """Maximises the mean over sentences of E[gain(e)] + T · H(p), with p(e, d) ∝ exp(w · h) sampled (7.12).

    The gain is the smoothed sentence-level version of the metric. Its gradient is the covariance of features with
    gain - T · score (7.13; log p and the score differ by a constant), the mean over the sentences of a minibatch. The
    estimate is unbiased if samples are independent. With `entropy_by=frequency`, the logarithm of a sample's relative
    frequency stands for the score, as in the thesis, which takes the entropy of the sampled distribution (7.4.1). If
    all samples differ, that gradient is 0, as the entropy is as large as samples can tell. By the score it is that of
    all derivations, whose entropy is largest where all weights are 0.

    Cost: sampling a minibatch for each update; the rest takes some per cent of that.

    Arun's thesis, 7.3. `preset=paper` has its settings: weights from 0, minibatches of 100, 2 chains of 2,000 samples
    from random derivations after 100 scans that cool from 3 to 1, a temperature that falls from 100 to 0.0001 by 0.9
    every 20 updates (its fast schedule is `annealing=fast`), exponentiated gradient as printed, sums over sentences
    (7.8), and a checkpoint every 50 updates. Its runs end after 48 hours (`--max-minutes 2880`), and checkpoints are
    judged on held-out text under the rule that is tested, by 10,000 samples: see `Validation`. Defaults depart from it:
    the temperature starts at 0.005 and falls faster, the gradient is the mean over sentences, Adam makes the steps, a
    checkpoint has the mean weights since the last one, and there are fewer samples, which start from the best monotone
    segmentation without heating. Departure of the preset, too: covariances of N samples are divided by N - 1. From a
    temperature of 100, sums over sentences diverged on Multi30k with 50 samples of a sentence, which a run notices;
    `annealing=none` or a temperature of at most 0.1 did not.
    """

    name: ClassVar[str] = "risk-sentence"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {**PAPER, "objective": "sum", "evaluate_every": 50},
    }

    objective: Literal["mean", "sum"] = option(
        "mean", "of a minibatch: the mean of the sentences' gains and entropies, or their sum (7.8)"
    )

    def estimate(
        self, drawn: SampleStatistics, scorer: Scorer, sign: int, temperature: float, rng: np.random.Generator
    ) -> Estimate:
        """Estimate the gradient of equation 7.13, as a mean or as a sum."""
        gains = sign * scorer.sentence_scores(drawn.statistics) / 100
        shares = drawn.covariance_shares(gains - temperature * self.log_probabilities(drawn))
        gain = float(drawn.probabilities @ gains) / len(drawn)
        if self.objective == "sum":
            return Estimate(gain, shares, len(drawn))
        return Estimate(gain, shares / len(drawn))
