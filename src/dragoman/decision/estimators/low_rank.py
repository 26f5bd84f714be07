"""Probabilistic MBR: some cells of the utility matrix, and a low-rank completion of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.decision.estimators.estimator import Estimator, Rows, SentenceEvidence, Vector

#: The part of the hypotheses that goes on to the next round.
_KEPT = 0.35


@dataclass(frozen=True)
class LowRank(Estimator):
    """F. Trabelsi et al., Efficient Minimum Bayes Risk Decoding using Low-Rank Matrix Completion Algorithms (2024).

    Scores random cells of the matrix of hypotheses and evidence, and completes the matrix by main effects of rows and
    columns and a product of two matrices of rank `rank`, all fitted by alternating least squares with L2 penalties.
    The budget is spent in `rounds`: after each, about a third of the hypotheses, those with the highest estimates, go
    on to the next, and the others are ruled out.

    Cost: `budget` times hypotheses times evidence, but at least two calls per hypothesis. Departures: the paper scores
    all cells at once, which is `rounds=1`. Where candidates are alike, a tenth of the cells cannot tell the best ones
    apart, and that choice may be worse than the first candidate. The paper completes the raw matrix; here each
    hypothesis that is evidence is scored with itself, apart from the completion, which such a cell would distort.
    """

    name: ClassVar[str] = "low-rank"

    budget: float = option(0.1, "proportion of all pairs that are scored", minimum=1e-6, maximum=1)
    rounds: int = option(3, "rounds in which they are scored; 1: all at once, as in the paper", minimum=1)
    rank: int = option(3, "rank of the completion", minimum=0)
    penalty: float = option(2.0, "L2 penalty of the factors, in units of the variance of the utilities", minimum=1e-9)
    sweeps: int = option(8, "sweeps of alternating least squares", minimum=1)

    def expected(self, sentence: SentenceEvidence, rng: np.random.Generator) -> Vector:
        """Return the expected utilities of the hypotheses of the last round under the completed matrix."""
        shape = len(sentence.hypotheses), len(sentence.evidence)
        places = {text: j for j, text in enumerate(sentence.evidence)}
        own = np.array([places.get(text, -1) for text in sentence.hypotheses])[:, None] == np.arange(shape[1])
        values, drawn = np.zeros(shape), np.zeros(shape, np.bool_)
        values[own] = sentence.pairs(*np.nonzero(own))
        budget = max(round(self.budget * shape[0] * shape[1]) - int(own.sum()), shape[0])
        left, found = np.arange(shape[0]), np.zeros(shape[0])
        for number in range(self.rounds):
            share = (budget - int(drawn.sum())) // ((self.rounds - number) * len(left))
            new = _new_cells((own | drawn)[left], max(share, int(number == 0)), rng)
            rows, columns = left[new[0]], new[1]
            values[rows, columns] = sentence.pairs(rows, columns)
            drawn[rows, columns] = True
            completed = complete(values, drawn, self.rank, self.penalty, self.sweeps, rng)
            found = np.where(own | drawn, values, completed) @ sentence.probabilities
            if number + 1 < self.rounds:
                best = np.argsort(-found[left], kind="stable")[: max(2, int(_KEPT * len(left)))]
                left = np.sort(left[best])
        ruled_out = np.ones(shape[0], np.bool_)
        ruled_out[left] = False
        return np.where(ruled_out, -np.inf, found)


def _new_cells(known: NDArray[np.bool_], count: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Draw up to `count` cells of each row that are not known; return their rows and columns."""
    order = np.argsort(np.where(known, 2.0, rng.random(known.shape)), axis=1, kind="stable")[:, :count]
    rows = np.repeat(np.arange(len(known)), order.shape[1])
    fresh = ~known[rows, order.ravel()]
    return rows[fresh], order.ravel()[fresh]


def complete(
    values: Vector, mask: NDArray[np.bool_], rank: int, penalty: float, sweeps: int, rng: np.random.Generator
) -> Vector:
    """Complete a matrix, of which the cells in `mask` are known, by main effects and a product of low rank."""
    if not mask.any():
        return np.zeros(values.shape)
    weights = mask.astype(np.float64)
    mean, scale = float(values[mask].mean()), float(values[mask].std())
    if scale == 0.0:
        return np.full(values.shape, mean)
    known = weights * (values - mean) / scale
    right = np.column_stack([np.zeros(values.shape[1]), rng.normal(0, 0.1, (values.shape[1], rank))])
    left = np.zeros((values.shape[0], rank + 1))
    for _ in range(sweeps):
        left = _least_squares(known, weights, right, penalty)
        right = _least_squares(known.T, weights.T, left, penalty)
    return np.asarray(mean + scale * (left[:, :1] + right[:, 0] + left[:, 1:] @ right[:, 1:].T))


def _least_squares(known: Vector, weights: Vector, other: Vector, penalty: float) -> Vector:
    """Fit the effect and the factors of all rows at once, given those of the columns; each row has its own cells."""
    factors = np.column_stack([np.ones(len(other)), other[:, 1:]])
    ridge = np.diag([1.0] + [penalty] * (factors.shape[1] - 1))
    squares = np.einsum("ij,jk,jl->ikl", weights, factors, factors, optimize=True) + ridge
    targets = (known - weights * other[:, 0]) @ factors
    return np.asarray(np.linalg.solve(squares, targets[:, :, None])[:, :, 0])
