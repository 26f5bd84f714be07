"""Confidence-based pruning: hypotheses that are unlikely to be the best are dropped early."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.decision.estimators.estimator import Estimator, SentenceEvidence, Vector


@dataclass(frozen=True)
class Pruned(Estimator):
    """J. Cheng and A. Vlachos, Faster Minimum Bayes Risk Decoding with Confidence-based Pruning (EMNLP 2023).

    Scores all hypotheses against a few references that are drawn from the evidence, resamples these references with
    replacement (bootstrap), and drops each hypothesis that beats the best one in less than 1 - `confidence` of the
    resamples. Repeats this with `growth` times as many references, until one hypothesis or `references` are left. The
    hypotheses that remain have their mean utility over all references drawn; the others are ruled out.

    Cost: `first` calls per hypothesis, and few more; a pair is scored once, however often it is drawn. Departures: none
    in the algorithm; the paper chooses the numbers of references for each data set, here they grow by a factor.
    """

    name: ClassVar[str] = "pruned"

    first: int = option(6, "references of the first round", minimum=1)
    growth: float = option(1.5, "factor from the references of one round to the next", minimum=1.01)
    references: int = option(256, "references at most", minimum=1)
    confidence: float = option(0.9, "drop hypotheses that are worse than the best with this confidence", maximum=1)
    resamples: int = option(500, "bootstrap resamples per round", minimum=1)

    def expected(self, sentence: SentenceEvidence, rng: np.random.Generator) -> Vector:
        """Return the mean utility of the hypotheses that are left."""
        drawn = rng.choice(len(sentence.evidence), self.references, p=sentence.probabilities)
        left = np.arange(len(sentence.hypotheses))
        sums = np.zeros((len(left), 0))
        size = min(self.first, self.references)
        while True:
            new = sentence.scores(left, drawn[sums.shape[1] : size])
            sums = np.concatenate([sums, new], axis=1)
            if len(left) == 1 or size == self.references:
                break
            kept = self._kept(sums, rng)
            left, sums = left[kept], sums[kept]
            size = min(self.references, max(size + 1, int(size * self.growth)))
        found = np.full(len(sentence.hypotheses), -np.inf)
        found[left] = sums.mean(axis=1)
        return found

    def _kept(self, utilities: Vector, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return which hypotheses are at least as good as the best one in enough resamples."""
        size = utilities.shape[1]
        counts = rng.multinomial(size, np.full(size, 1 / size), self.resamples)
        sums = utilities @ counts.T
        best = int(utilities.sum(axis=1).argmax())
        return np.asarray((sums >= sums[best]).mean(axis=1) >= 1 - self.confidence)
