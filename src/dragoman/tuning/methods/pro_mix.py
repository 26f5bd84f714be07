"""PRO-mix: feature weights and interpolation weights of mixed tables, tuned together (Haddow 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import Optimum
from dragoman.tuning.methods.pro import Pro, least
from dragoman.tuning.optimise.interpolation_weights import (
    bounds_of,
    dirichlet,
    from_coordinates,
    gradient_by_coordinates,
    to_coordinates,
)
from dragoman.tuning.problems.mixtures import MixedRows, MixedScores, MixtureProblem, interpolation_groups
from dragoman.tuning.problems.problem import Problem, differences

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class ProMix(Pro):
    """PRO for mixtures: B. Haddow, Applying Pairwise Ranked Optimisation to Improve the Interpolation of Translation
    Models (NAACL 2013).

    Samples pairs of candidates as PRO does. The scores of mixed tables are Σ log Σ_t λ_t p_t over the phrases of a
    candidate, those of mixed grammars over its rules, of mixed reordering tables over the orientations of its phrases,
    of mixed language models (footnote 3) over its words. The weights w and the interpolation weights λ together put
    the better one of each pair first (equations 5 and 6): they minimise PRO's loss, with the Gaussian prior on w only,
    and on request with a Dirichlet prior on λ.

    Each score, or direction of orientations, has its own λ = 0.001 + (1 - 0.001 T) softmax(θ) for T tables: they sum
    to 1 and none is less than 0.001 for any θ, for any number of tables. L-BFGS with exact gradients minimises in w
    and θ at once (θ between bounds beyond which nothing changes), from the old weights; the loss is convex in w but
    not in λ, so this finds a local minimum. Without mixtures in the problem this is PRO.

    A step costs one pass over the features of each pair and over the phrase pairs that its two candidates do not share.
    Departures: as for `pro`. The paper has one λ for two tables, between bounds of L-BFGS; here a softmax, for any
    number of them, and λ begin at least 0.01 from their bounds, where it is flat. The paper does not say whether its
    Gaussian prior is on λ as well. It mixes phrase tables only. Searches use a mixture of language models as one
    back-off model, whose n-grams that no component has differ a little from Σ λ p; lists have Σ λ p.
    """

    name: ClassVar[str] = "pro-mix"

    concentration: float = option(
        1.0, "of the Dirichlet prior of interpolation weights; 1: no prior, more: towards equal weights", minimum=1
    )

    def improve(  # type: ignore[override]
        self, problem: MixtureProblem, start: Vector, rng: np.random.Generator, runtime: Runtime
    ) -> Optimum:
        """Sample pairs and learn to rank them."""
        return super().improve(problem, start, rng, runtime)

    def learnt(
        self,
        problem: Problem,
        better: NDArray[np.int64],
        worse: NDArray[np.int64],
        start: Vector,
        *,
        runtime: Runtime = Runtime(),
    ) -> tuple[Vector, float]:
        """Return the weights that rank pairs best, and their loss."""
        assert isinstance(problem, MixtureProblem)
        if not problem.mixtures:
            return super().learnt(problem, better, worse, start, runtime=runtime)
        scores = [mixture.between(better, worse) for mixture in problem.mixtures]
        mixing = problem.is_interpolation_weight
        mean = np.where(mixing, 0.0, self._mean(start))
        loss = MixedRanking(
            differences(problem, better, worse), scores, mean, ~mixing, self.variance, self.concentration
        )
        return loss.least(start, runtime=runtime)


@dataclass(frozen=True, eq=False)
class MixedRanking:
    """The loss of pairs under weights and interpolation weights, and its gradient; `weighed` flags the former."""

    pairs: Any
    mixtures: list[MixedScores]
    mean: Vector
    weighed: NDArray[np.bool_]
    variance: float
    concentration: float = 1.0

    def __call__(self, vector: Vector) -> tuple[float, Vector]:
        """Return the loss and its gradient, as if interpolation weights were free."""
        away = np.where(self.weighed, vector - self.mean, 0.0)
        margins, gradient_of = MixedRows(self.pairs, self.mixtures).scored(vector)
        decline = -2 * np.exp(-np.logaddexp(0.0, margins))
        loss = 2 * float(np.logaddexp(0.0, -margins).sum()) + float(away @ away) / (2 * self.variance)
        gradient = gradient_of(decline) + away / self.variance
        prior, slopes = dirichlet(vector[~self.weighed], self.concentration)
        gradient[~self.weighed] -= slopes
        return loss - prior, gradient

    def least(self, start: Vector, *, runtime: Runtime = Runtime()) -> tuple[Vector, float]:
        """Minimise the loss from a start: in weights, and in the softmax coordinates of each score's mixture."""
        groups = interpolation_groups(self.mixtures)
        origin = to_coordinates(start, groups)
        units = self._units(from_coordinates(origin, groups))
        bounds = bounds_of(len(start), groups) / units[:, None]

        def in_units(moved: Vector) -> tuple[float, Vector]:
            place = units * moved
            vector = from_coordinates(place, groups)
            loss, gradient = self(vector)
            return loss, units * gradient_by_coordinates(gradient, vector, groups)

        moved, loss = least(in_units, origin / units, bounds=bounds, runtime=runtime)
        return from_coordinates(units * moved, groups), loss

    def _units(self, vector: Vector) -> Vector:
        """Units in which everything has about the same curvature, as in `Pro.learnt`."""
        squares = np.bincount(self.pairs.indices, self.pairs.data**2, minlength=len(vector)).astype(np.float64)
        for one in self.mixtures:
            lambdas = one.interpolation_weights_in(vector)
            mixture = one.mixed(lambdas)
            there = one.columns >= 0
            squares[one.columns[there]] += (one.values(mixture) ** 2).sum(axis=0)[there]
            # Of log Σ λ p by the coordinate of t: λ (p / Σ λ p - 1), but for the floor. A weight that is 0 will not
            # stay there.
            parts = lambdas[:, :, None] * (one.probabilities / np.maximum(mixture, 1e-300)[:, None] - 1)
            weights = np.maximum(np.abs(one.weights_in(vector)), 0.1)
            for s, row in enumerate(one.interpolation_columns):
                if (row >= 0).all():
                    squares[row] += ((one.counts @ parts[s].T) ** 2).sum(axis=0) * weights[s] ** 2
        own = np.where(self.weighed, 1 / self.variance, 1.0)
        units: Vector = 1 / np.sqrt(squares / 2 + own)
        return units
