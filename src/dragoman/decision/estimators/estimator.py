"""The interface of estimators: expected utilities of the hypotheses of one sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import Options
from dragoman.core.runtime import Runtime
from dragoman.decision.posterior import Posterior
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.utility import Utility

Vector = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SentenceEvidence:
    """Distinct hypotheses of a sentence, distinct strings of its evidence with their probabilities, and its source."""

    hypotheses: Sequence[str]
    evidence: Sequence[str]
    probabilities: Vector
    source: str
    scorer: PairScorer

    def scores(self, hypotheses: Rows, evidence: Rows) -> NDArray[np.float64]:
        """Return the utilities of some hypotheses (rows) against some strings of the evidence (columns)."""
        found = self.pairs(np.repeat(hypotheses, len(evidence)), np.tile(evidence, len(hypotheses)))
        return found.reshape(len(hypotheses), len(evidence))

    def matrix(self) -> NDArray[np.float64]:
        """Return the utilities of all hypotheses (rows) against all evidence (columns)."""
        return self.scores(np.arange(len(self.hypotheses)), np.arange(len(self.evidence)))

    def pairs(self, hypotheses: Rows, evidence: Rows) -> Vector:
        """Return the utility of each pair."""
        return self.scorer.score(
            [self.hypotheses[i] for i in hypotheses.tolist()],
            [self.evidence[j] for j in evidence.tolist()],
            [self.source] * len(hypotheses),
        )


class BatchEstimate(NamedTuple):
    """Expected utilities of the hypotheses of many sentences, and the number of comparisons that they took."""

    values: Vector
    calls: int


@dataclass(frozen=True)
class Estimator(Options, ABC):
    """A way to estimate the expected utility of hypotheses with fewer calls of the utility than all pairs."""

    name: ClassVar[str]

    def batch(
        self, utility: Utility, hypotheses: Posterior, evidence: Posterior, runtime: Runtime
    ) -> BatchEstimate | None:
        """Return the expected utilities of many sentences at once, where a kernel can do that for this utility."""
        return None

    @abstractmethod
    def expected(self, sentence: SentenceEvidence, rng: np.random.Generator) -> Vector:
        """Return the estimated expected utility of each hypothesis; -inf for those that were ruled out."""
