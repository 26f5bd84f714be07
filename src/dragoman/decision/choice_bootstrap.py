"""Confidence of MBR choices: the share of resamples of the evidence that lead to them (bootstrap)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.decision.posterior import Posterior

Vector = NDArray[np.float64]

#: Difference of expected utilities, relative to the largest utility, up to which candidates are equals: utilities are
#: kept with the seven digits of 32 bits.
_EQUAL = 1e-6


@dataclass(frozen=True)
class ChoiceBootstrap:
    """Bootstrap over pseudo-references (Efron 1979; of MBR choices as in Cheng & Vlachos 2023).

    A resample has as many strings as the evidence of the sentence, drawn from its distribution with replacement. The
    confidence of a candidate is the share of resamples in which it has the highest mean utility, the first among
    equals; those of a sentence sum to 1. Cost: no calls of the utility, and one matrix product per sentence.
    """

    resamples: int
    seed: int = 1

    def shares(self, utilities: NDArray[Any], probabilities: Vector, draws: int, sentence: int) -> Vector:
        """Return the confidence of each candidate (row) of a sentence.

        Random numbers depend on the seed and the number of the sentence only.
        """
        rng = np.random.default_rng([self.seed, sentence])
        counts = rng.multinomial(draws, probabilities / probabilities.sum(), self.resamples)
        sums = utilities.astype(np.float64) @ counts.T.astype(np.float64)
        slack = _EQUAL * draws * float(np.abs(utilities).max())
        winners = (sums >= sums.max(axis=0) - slack).argmax(axis=0)
        return np.bincount(winners, minlength=len(utilities)) / self.resamples

    def confidences(
        self, cells: NDArray[np.float32], hypotheses: Posterior, evidence: Posterior, *, before: int = 0
    ) -> Vector:
        """Return the confidence of all candidates by all utilities, sentence by sentence, candidate by candidate.

        `before` sentences came before these.
        """
        found, done = np.empty(len(hypotheses.strings)), 0
        for s in range(len(hypotheses)):
            rows, columns = (slice(*side.sentences[s : s + 2].tolist()) for side in (hypotheses, evidence))
            shape = rows.stop - rows.start, columns.stop - columns.start
            if shape[0]:
                matrix = cells[done : done + shape[0] * shape[1]].reshape(shape)
                draws = int(evidence.sizes[s])
                found[rows] = self.shares(matrix, evidence.probabilities[columns], draws, before + s)
                done += matrix.size
        return found
