"""Exact expected utilities: every hypothesis against every string of the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dragoman.core.runtime import Runtime
from dragoman.decision.estimators.estimator import BatchEstimate, Estimator, SentenceEvidence, Vector
from dragoman.decision.gains import sharded_gains
from dragoman.decision.posterior import Posterior
from dragoman.metrics.utility import MetricUtility, Utility


@dataclass(frozen=True)
class Exact(Estimator):
    """The sum over all evidence of probability times utility (Kumar & Byrne 2004; Eikema & Aziz 2020).

    Cost: hypotheses times evidence.
    """

    name: ClassVar[str] = "exact"

    def batch(
        self, utility: Utility, hypotheses: Posterior, evidence: Posterior, runtime: Runtime
    ) -> BatchEstimate | None:
        """Return the expected gains of a metric, computed by threads or workers."""
        if not isinstance(utility, MetricUtility):
            return None
        pairs = int(np.diff(hypotheses.sentences) @ np.diff(evidence.sentences))
        return BatchEstimate(sharded_gains(utility.metric, hypotheses, evidence, runtime=runtime)[0], pairs)

    def expected(self, sentence: SentenceEvidence, rng: np.random.Generator) -> Vector:
        """Return the expected utility of each hypothesis."""
        return sentence.matrix() @ sentence.probabilities
