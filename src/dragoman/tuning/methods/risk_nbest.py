"""Minimum risk on n-best lists: the metric of expected statistics, from a warm distribution to a cold one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import UsageError
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.annealer import Annealer
from dragoman.tuning.methods.method import Optimum
from dragoman.tuning.optimise.interpolation_weights import (
    bounds_of,
    dirichlet,
    from_coordinates,
    gradient_by_coordinates,
    to_coordinates,
)
from dragoman.tuning.problems.mixtures import MixedRows, MixtureProblem, interpolation_groups
from dragoman.tuning.problems.problem import Problem, feature_matrix
from dragoman.tuning.runs.trust_region import TrustRegion


@runtime_checkable
class SmoothScorer(Protocol):
    """A scorer that also has a differentiable version of its score, for sums of statistics that are no counts."""

    def smooth_score(self, statistics: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Score one sum of statistics, close to `score`, and return the derivatives with respect to them."""


@dataclass(frozen=True)
class RiskNbest(Annealer):
    """Maximises the metric of expected statistics under p(h) ∝ exp(gamma w · features(h)) within each list.

    The objective is V(Σ_s E_s[statistics]) + T · (mean entropy of the lists in nats), where V is the smooth version of
    the metric: for BLEU, `smooth_bleu`, in points. Two phases, each step from the weights of the last:
    annealing, gamma = 1, in which T falls from `temperature` to `coldest` by a factor `cooling` a step and w is free,
    so that T decides how sharp the distribution is; and quenching, T = 0, in which the length of w stays what it is and
    gamma doubles, so that the distribution closes in on the best candidates, and V on the metric. The weights that are
    returned belong to gamma = 1 (their length matters where probabilities are needed); the objective is V at the last
    gamma.

    Cost: a pass over all features and statistics for each of some hundred gradients, in threads; any number of
    features. Gradients are exact; each step is L-BFGS. There is nothing random.

    Smith & Eisner, "Minimum risk annealing for training log-linear models", 2006. They minimise the expectation of
    -log BLEU, by a second-order expansion around the expected statistics; this is BLEU of the expected statistics, as
    sums over a corpus hardly vary. The length of w is fixed in quenching because otherwise gamma would have no effect.

    If the model has mixed tables, their interpolation weights are learnt with the weights, as in `pro-mix`: scores of a
    candidate are Σ log Σ_t λ_t p_t over its phrases, λ = 0.001 + (1 - 0.001 T) softmax(θ) for T tables, and each step
    climbs in w and θ at once. Gamma and the length are of w only.
    """

    name: ClassVar[str] = "risk-nbest"
    region: ClassVar[TrustRegion | None] = None

    concentration: float = option(
        1.0,
        "of the Dirichlet prior of interpolation weights (a nat is worth a point); 1: no prior, more: towards equal"
        " weights",
        minimum=1,
    )

    def improve(
        self,
        problem: Problem | MixtureProblem,
        start: NDArray[np.float64],
        rng: np.random.Generator,
        runtime: Runtime,
    ) -> Optimum:
        """Anneal, then quench."""
        if not isinstance(problem, MixtureProblem):
            return self.anneal(ExpectedScore(problem, runtime=runtime), start, runtime=runtime)
        risk = ExpectedMixture(problem, self.concentration)
        from threadpoolctl import threadpool_limits

        # One thread, because sums over several depend on their number.
        with threadpool_limits(1):
            found = self.anneal(
                risk,
                to_coordinates(start, risk.groups),
                bounds=bounds_of(len(start), risk.groups),
                others=problem.is_interpolation_weight,
                runtime=runtime,
            )
        return replace(found, weights=from_coordinates(found.weights, risk.groups))


class ExpectedScore:
    """The objective of `RiskNbest` on a problem, with its gradient, for given weights, gamma and temperature."""

    def __init__(self, problem: Problem, *, runtime: Runtime = Runtime()):
        self._problem = problem
        self._smooth_score = _smooth(problem).smooth_score
        self._statistics = np.ascontiguousarray(problem.statistics, np.float64)
        self._candidates = kernels.Candidates(
            sentences=np.ascontiguousarray(problem.sentences, np.int64), features=problem.features.for_kernels()
        )
        self._threads = runtime.threads

    def __call__(
        self, weights: NDArray[np.float64], gamma: float, temperature: float
    ) -> tuple[float, NDArray[np.float64]]:
        """Return V(expected statistics) + temperature · mean entropy, and its derivatives by the weights."""
        per_sentence = temperature / (len(self._problem.sentences) - 1)
        scores, probabilities, expected, entropy = kernels.expected_statistics(
            self._candidates, self._statistics, gamma * weights, self._threads
        )
        value, slopes = self._smooth_score(expected)
        sign = self._problem.sign
        gradient = kernels.expectation_gradient(
            self._candidates,
            self._statistics,
            scores,
            probabilities,
            sign * slopes,
            per_sentence,
            len(weights),
            self._threads,
        )
        return sign * value + per_sentence * entropy, gamma * gradient


class ExpectedMixture:
    """The objective of `RiskNbest` for mixed tables: a function of weights and of coordinates of the mixture."""

    def __init__(self, problem: MixtureProblem, concentration: float = 1.0):
        self._problem, self._concentration = problem, concentration
        self._smooth_score = _smooth(problem).smooth_score
        self._statistics = np.ascontiguousarray(problem.statistics, np.float64)
        self._rows = MixedRows(feature_matrix(problem), problem.mixtures)
        self._mixing = problem.is_interpolation_weight
        #: The places of interpolation weights that sum to 1.
        self.groups = interpolation_groups(problem.mixtures)

    def __call__(
        self, place: NDArray[np.float64], gamma: float, temperature: float
    ) -> tuple[float, NDArray[np.float64]]:
        """Return V(expected statistics) + temperature · mean entropy + prior of the mixture, and its derivatives."""
        vector = from_coordinates(place, self.groups)
        scores, gradient_of = self._rows.scored(vector)
        bounds = self._problem.sentences
        first, sizes = bounds[:-1], np.diff(bounds)
        scaled = gamma * scores
        scaled -= np.repeat(np.maximum.reduceat(scaled, first), sizes)
        powers = np.exp(scaled)
        totals = np.add.reduceat(powers, first)
        probabilities = powers / np.repeat(totals, sizes)
        logs = scaled - np.repeat(np.log(totals), sizes)
        value, by_statistics = self._smooth_score(probabilities @ self._statistics)
        sign, worth = self._problem.sign, temperature / len(sizes)
        # The derivative of an expectation by a score is p (gain - expected gain), and so is that of the entropy, in
        # which the gain is -log p.
        gains = sign * (self._statistics @ by_statistics) - worth * logs
        mean = np.add.reduceat(probabilities * gains, first)
        slopes = probabilities * (gains - np.repeat(mean, sizes))
        entropy = -float((probabilities * logs).sum())
        prior, by_mixing = dirichlet(vector[self._mixing], self._concentration)
        gradient = gradient_of(gamma * slopes)
        gradient[self._mixing] += by_mixing
        return sign * value + worth * entropy + prior, gradient_by_coordinates(gradient, vector, self.groups)


def _smooth(problem: Problem) -> SmoothScorer:
    """Return the scorer of a problem, if it is smooth."""
    if not isinstance(problem.scorer, SmoothScorer):
        raise UsageError(
            "risk-nbest needs a metric that is a smooth function of its statistics, such as bleu;"
            " this one is not (mert, simplex and lus take any)"
        )
    return problem.scorer
