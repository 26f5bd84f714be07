"""Minimum risk on hypergraphs: BLEU in expectation over all derivations, from a warm distribution to a cold one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.metrics.bleu import smooth_bleu
from dragoman.tuning.methods.annealer import Annealer, Risk
from dragoman.tuning.methods.method import Optimum
from dragoman.tuning.problems.forest_counts import ForestCounts
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.runs.trust_region import TrustRegion

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class RiskForest(Annealer):
    """Maximises BLEU in expectation under p(d) ∝ exp(gamma w · features(d)) over all derivations of each hypergraph.

    The objective is the expected gain + T · (mean entropy of the hypergraphs in nats), in points of BLEU. T falls and
    gamma rises as in `Annealer`. Counts of a derivation are sums over its edges once the hypergraphs are split by
    n-grams: |e| words, t_n n-grams of order n, and m_n of these that a reference has, not clipped (`ForestCounts`).

    `gain = bleu`: smooth BLEU (`smooth_bleu`) of the counts expected over the whole set, Σ_s E[m_n], Σ_s E[t_n],
    Σ_s E[|e|] and the reference length of the best translations at the start. This is the objective of `risk-nbest`
    without clipping, over exponentially many candidates.

    `gain = linear`: the mean over sentences of E[G], where

        G(e) = B / L · (-|e| + Σ_n m_n(e) / (N p r^(n-1))),                    n = 1 to N

    is linear BLEU (Tromble et al. 2008, equation 5) times BLEU's score B of the best translations at the start, over
    the mean length L of a reference: what a change of log BLEU by the sum of all G is worth in points. p is the unigram
    precision and r the ratio of the precisions of one order and the one before: options, or measured at the start.
    There is no brevity penalty in it, and where precision is below p it pays to be short; see `docs/theory/tuning.md`.

    Cost: a gradient takes one pass up and down the split hypergraphs (two for `bleu`), linear in edges and feature
    values, in threads; any number of features. Gradients are exact, Cov(G - T ln p, features), which is where the
    second-order expectation semiring would end (Li & Eisner 2009); each step is L-BFGS. There is nothing random.
    """

    name: ClassVar[str] = "risk-forest"
    region: ClassVar[TrustRegion | None] = None
    tolerance: ClassVar[float] = 1e-6

    gain: Literal["bleu", "linear"] = option("bleu", "BLEU of expected counts, or its linear approximation")
    p: float | None = option(
        None, "unigram precision, for linear; by default measured at the start", minimum=1e-6, maximum=1
    )
    r: float | None = option(
        None, "ratio of the precisions of one order and the order before, for linear; by default measured", minimum=1e-6
    )

    def improve(self, problem: HypergraphProblem, start: Vector, rng: np.random.Generator, runtime: Runtime) -> Optimum:
        """Anneal, then quench."""
        return self.anneal(self.risk(problem, start, runtime=runtime), start, runtime=runtime)

    def risk(self, problem: HypergraphProblem, start: Vector, *, runtime: Runtime = Runtime()) -> Risk:
        """Return the objective, given the start weights."""
        counts = ForestCounts.of(problem, runtime=runtime)
        best = problem.best(start, runtime=runtime)
        total = problem.statistics(best, runtime=runtime).sum(axis=0)
        if self.gain == "bleu":
            return ExpectedBleu(counts, float(total[1]), runtime=runtime)
        scale = float(problem.scorer.score(total)) * len(problem.batch) / float(total[1])
        order = counts.matches.shape[1]
        p, r = self._precisions(total[2 : 2 + order], total[2 + order :])
        theta = 1 / (order * p * r ** np.arange(order))
        return ExpectedGain(counts, scale * (counts.matches @ theta - counts.words), runtime=runtime)

    def _precisions(self, matches: Vector, totals: Vector) -> tuple[float, float]:
        """Return the unigram precision, and the mean factor between the precisions of successive orders."""
        precisions = np.maximum(matches, 1) / np.maximum(totals, 1)
        fall = (precisions[-1] / precisions[0]) ** (1 / max(1, len(precisions) - 1))
        return self.p or float(precisions[0]), self.r or float(fall)


class ExpectedGain:
    """The mean over hypergraphs of the expected sum of edges' gains, and a worth of entropy, with the gradient."""

    def __init__(self, counts: ForestCounts, gains: Vector, *, runtime: Runtime = Runtime()):
        self._forests, self._gains, self._runtime = counts.forests, gains, runtime

    def __call__(self, weights: Vector, gamma: float, temperature: float) -> tuple[float, Vector]:
        """Expected gain + temperature · mean entropy, and its derivatives with respect to the weights."""
        derivations = self._forests.at(gamma * weights, runtime=self._runtime)
        values, gradient = derivations.expected_gains(self._gains, temperature)
        return float(values.mean()), gamma / len(values) * gradient


class ExpectedBleu:
    """Smooth BLEU of expected counts, and a worth of entropy, with the gradient."""

    def __init__(self, counts: ForestCounts, reference_length: float, *, runtime: Runtime = Runtime()):
        self._forests, self._runtime = counts.forests, runtime
        self._columns = np.column_stack([counts.words, counts.matches, counts.ngrams])
        self._order, self._reference_length = counts.matches.shape[1], reference_length

    def __call__(self, weights: Vector, gamma: float, temperature: float) -> tuple[float, Vector]:
        """BLEU + temperature · mean entropy, and its derivatives with respect to the weights."""
        derivations = self._forests.at(gamma * weights, runtime=self._runtime)
        expected = derivations.expected_sums(self._columns).sum(axis=0)
        length, matches, totals = expected[0], expected[1 : 1 + self._order], expected[1 + self._order :]
        bleu = smooth_bleu(matches, totals, float(length), self._reference_length)
        slopes = np.concatenate([[bleu.by_hypothesis_length], bleu.by_matches, bleu.by_totals])
        # By the chain rule, the gradient equals the gradient of an expected gain that is linear in the counts.
        gains = np.einsum("ek,k->e", self._columns, slopes)  # not by BLAS, whose threads get in the way of ours
        values, gradient = derivations.expected_gains(gains, temperature / len(self._forests))
        entropy = float(values.sum() - expected @ slopes)
        return bleu.score + entropy, gamma * gradient
