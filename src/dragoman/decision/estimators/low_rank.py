"""Probabilistic MBR: some cells of the utility matrix, and a low-rank completion of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.decision.estimators.estimator import Estimator, SentenceEvidence, Vector


@dataclass(frozen=True)
class LowRank(Estimator):
    """F. Trabelsi et al., Efficient Minimum Bayes Risk Decoding using Low-Rank Matrix Completion Algorithms (2024).

    Scores a random part of the cells of the matrix of hypotheses and evidence, at least one per hypothesis and string
    of evidence, and completes the matrix with the product of two matrices of rank `rank` (alternating least squares
    with an L2 penalty, after the mean of each hypothesis and each string has been subtracted).

    Cost: `budget` times hypotheses times evidence. Departures: means are fitted first, so that rank 0 is a model of
    main effects; the paper completes the raw matrix.
    """

    name: ClassVar[str] = "low-rank"

    budget: float = option(0.1, "proportion of all pairs that are scored", minimum=1e-6, maximum=1)
    rank: int = option(3, "rank of the completion", minimum=0)
    penalty: float = option(1.0, "L2 penalty of the factors, in units of the noise variance", minimum=1e-9)
    sweeps: int = option(10, "sweeps of alternating least squares", minimum=0)

    def expected(self, sentence: SentenceEvidence, rng: np.random.Generator) -> Vector:
        """Return the expected utilities under the completed matrix."""
        shape = len(sentence.hypotheses), len(sentence.evidence)
        mask = self._cells(shape, rng)
        rows, columns = np.nonzero(mask)
        values = np.zeros(shape)
        values[rows, columns] = sentence.pairs(rows, columns)
        return complete(values, mask, self.rank, self.penalty, self.sweeps, rng) @ sentence.probabilities

    def _cells(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draw cells, about equally many in each row and in each column."""
        wanted = min(max(round(self.budget * shape[0] * shape[1]), max(shape)), shape[0] * shape[1])
        # Diagonals of a matrix with shuffled rows and columns: every row and column gets its share.
        rows, columns = rng.permutation(shape[0]), rng.permutation(shape[1])
        diagonal = (rows[:, None] * shape[1] // shape[0] + columns[None, :]) % shape[1]
        order = np.lexsort((rng.random(shape[0] * shape[1]), diagonal.ravel()))
        mask = np.zeros(shape[0] * shape[1], np.bool_)
        mask[order[:wanted]] = True
        return mask.reshape(shape)


def complete(
    values: Vector, mask: NDArray[np.bool_], rank: int, penalty: float, sweeps: int, rng: np.random.Generator
) -> Vector:
    """Complete a matrix, of which the cells in `mask` are known, by main effects and a product of low rank."""
    weights = mask.astype(np.float64)
    mean = float(values[mask].mean())
    row_effects, column_effects = np.zeros(values.shape[0]), np.zeros(values.shape[1])
    for _ in range(20):  # shrunk means, which converge fast
        rest = weights * (values - mean - column_effects)
        row_effects = rest.sum(axis=1) / (weights.sum(axis=1) + 1e-3)
        rest = weights * (values - mean - row_effects[:, None])
        column_effects = rest.sum(axis=0) / (weights.sum(axis=0) + 1.0)
    main = mean + row_effects[:, None] + column_effects
    rest = weights * (values - main)
    noise = float((rest**2).sum() / weights.sum())
    if rank == 0 or noise == 0.0:
        return main
    left = rng.normal(0, 0.1, (values.shape[0], rank))
    right = rng.normal(0, 0.1, (values.shape[1], rank))
    scale = np.sqrt(noise)
    rest /= scale
    ridge = penalty * np.eye(rank)
    for _ in range(sweeps):
        left = _least_squares(rest, weights, right, ridge)
        right = _least_squares(rest.T, weights.T, left, ridge)
    return np.asarray(main + scale * (left @ right.T))


def _least_squares(rest: Vector, weights: Vector, factor: Vector, ridge: Vector) -> Vector:
    """Solve for all rows at once: each has its own known cells."""
    squares = np.einsum("ij,jk,jl->ikl", weights, factor, factor, optimize=True) + ridge
    return np.asarray(np.linalg.solve(squares, (rest @ factor)[:, :, None])[:, :, 0])
