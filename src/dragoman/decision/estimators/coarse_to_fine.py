"""Coarse to fine: a cheap utility keeps a few hypotheses, and the expensive one decides among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from dragoman.core.options import option
from dragoman.decision.estimators.estimator import Estimator, SentenceEvidence, Vector
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.utility import needs_reference, utility_of


@dataclass(frozen=True)
class CoarseToFine(Estimator):
    """N-best reranking before MBR (Eikema & Aziz 2022, section 5; Fernandes et al. 2022).

    Keeps the `keep` hypotheses with the highest expected utility under `cheap`, or the best by a quality estimate if
    `cheap` is a utility without references. These are compared by the expensive utility with the `evidence` most
    probable strings; all others are ruled out.

    Cost: `keep` times `evidence` calls of the expensive utility, and all pairs (or, for a quality estimate, all
    hypotheses) with the cheap one, which is not counted as a call.
    """

    name: ClassVar[str] = "coarse-to-fine"

    cheap: str = option("chrf", "the utility that keeps hypotheses: a metric, or a quality estimate")
    keep: int = option(10, "hypotheses that the expensive utility compares", minimum=1)
    evidence: int | None = option(None, "strings of evidence that it compares them with; by default all", minimum=1)

    @cached_property
    def _coarse(self) -> PairScorer:
        return PairScorer(utility_of(self.cheap))

    def expected(self, sentence: SentenceEvidence, rng: np.random.Generator) -> Vector:
        """Return the expected utilities of the hypotheses that are kept."""
        coarse = replace(sentence, scorer=self._coarse)
        rows, columns = np.arange(len(sentence.hypotheses)), np.arange(len(sentence.evidence))
        if needs_reference(self._coarse.utility):
            values = coarse.scores(rows, columns) @ sentence.probabilities
        else:
            values = coarse.pairs(rows, np.zeros(len(rows), np.int64))
        self._coarse.forget()
        kept = np.sort(np.argsort(-values, kind="stable")[: self.keep])
        likely = np.sort(np.argsort(-sentence.probabilities, kind="stable")[: self.evidence])
        found = np.full(len(rows), -np.inf)
        masses = sentence.probabilities[likely]
        found[kept] = sentence.scores(kept, likely) @ (masses / masses.sum())
        return found
