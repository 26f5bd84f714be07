"""How well lists know where weights lead: whether what they choose was near the top of a list that was decoded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.tuning.problems.problem import Problem

Vector = NDArray[np.float64]


class Support:
    """Merged lists, and the weights that each of them was decoded with.

    Of what lies below the end of an n-best list nothing is known. If weights choose candidates from the ends of all
    lists, others that nobody has seen will be better still under them, and a decoder finds those.
    """

    def __init__(self, problem: Problem, decoded_with: Sequence[Vector], length: int):
        self._problem, self._length = problem, length
        self._scores = [problem.model_scores(weights) for weights in decoded_with]

    def of(self, weights: Vector) -> float:
        """The share of sentences whose best candidate was in the upper half of a list of `length` at least once."""
        chosen, starts = self._problem.best(weights), self._problem.sentences[:-1]
        sizes = np.diff(self._problem.sentences)
        known = np.zeros(len(starts), bool)
        for scores in self._scores:
            better = scores > np.repeat(scores[chosen], sizes)
            known |= 2 * np.add.reduceat(better, starts, dtype=np.int64) < self._length
        return float(known.mean())
