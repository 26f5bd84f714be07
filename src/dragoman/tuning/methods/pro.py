"""PRO: tuning as ranking of sampled pairs (Hopkins & May 2011)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import UsageError
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import Optimum, Tuner
from dragoman.tuning.problems.problem import Problem, differences
from dragoman.tuning.runs.trust_region import TrustRegion

#: L-BFGS needs a few dozen steps; more would mean that something is odd.
MAX_STEPS = 1000


@dataclass(frozen=True)
class Pro(Tuner):
    """Pairwise ranking optimisation: M. Hopkins and J. May, Tuning as Ranking (EMNLP 2011).

    In each sentence draws pairs of candidates, drops those whose sentence scores (BLEU+1 for BLEU) hardly differ, and
    keeps the first `pairs` of them, or the ones that differ most, as the paper does. The weights are to rank the
    better one of each pair first: they minimise

        Σ over pairs of 2 log(1 + exp(-w·(h(better) - h(worse)))) + |w - μ|² / (2 variance)

    (2, because the paper counts each pair in both directions, which have the same loss), where μ is 0 or the old
    weights. The objective is minus that. It is convex; L-BFGS finds the minimum.

    Sampling costs `samples` per sentence, a step of L-BFGS one pass over the features of each pair; there may be any
    number of features. Sentence scores are divided by 100 when compared with the threshold.

    Departures: a pair that is drawn again does not count again; short lists would give many copies of one pair
    otherwise. Pairs are kept at random by default: those that differ most compare good candidates with monsters, much
    too long or short, and teach little else (Nakov, Guzmán & Vogel 2013). In the loop a step goes half the way.

    BLEU+1 adds a match to a sentence's n-grams and nothing to the length of its reference, so that short candidates
    look better than they are. If translations become too short, `longer_references=1` is the remedy of Nakov,
    Guzmán & Vogel (2012); otherwise it makes them too long.
    """

    name: ClassVar[str] = "pro"
    region: ClassVar[TrustRegion | None] = TrustRegion(part=0.5)

    samples: int = option(5000, "pairs drawn for each sentence (Γ)", minimum=1)
    pairs: int = option(50, "pairs kept of them (Ξ)", minimum=1)
    selection: Literal["random", "largest"] = option("random", "keep pairs at random, or those that differ most")
    longer_references: float = option(
        0.0,
        "words added to the reference length in sentence BLEU, if translations are too short",
        minimum=0,
    )
    threshold: float = option(0.05, "difference of sentence scores that a pair must exceed; 1 is 100 points", minimum=0)
    variance: float = option(1.0, "variance of the Gaussian prior of each weight", minimum=1e-12)
    prior: Literal["zero", "previous"] = option("zero", "mean of the Gaussian prior")

    def improve(
        self, problem: Problem, start: NDArray[np.float64], rng: np.random.Generator, runtime: Runtime
    ) -> Optimum:
        """Sample pairs and learn to rank them."""
        better, worse = self.sampled(problem, rng, runtime=runtime)
        if not len(better):
            runtime.warn(
                f"no two candidates of a sentence have scores more than {self.threshold:g} apart: the weights stay"
            )
            return Optimum(start, -float(((start - self._mean(start)) ** 2).sum()) / (2 * self.variance))
        weights, loss = self.learnt(problem, better, worse, start, runtime=runtime)
        return Optimum(weights, -loss)

    def sampled(
        self, problem: Problem, rng: np.random.Generator, *, runtime: Runtime = Runtime()
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw pairs of candidates: the better ones and the worse ones, as rows of the problem."""
        scores = problem.sign * problem.scorer.sentence_scores(self._lengthened(problem)) / 100
        if not np.isfinite(scores).all():
            raise UsageError("the metric has no finite scores of single sentences, which pro needs; try mert")
        with runtime.stage("sampling pairs") as progress_callback:
            return kernels.sample_pairs(
                problem.sentences,
                np.ascontiguousarray(scores, np.float64),
                draws=self.samples,
                keep=self.pairs,
                threshold=self.threshold,
                largest=self.selection == "largest",
                seed=int(rng.integers(2**63)),
                threads=runtime.threads,
                progress=progress_callback,
            )

    def _lengthened(self, problem: Problem) -> NDArray[np.float64]:
        """Return the candidates' statistics, with longer references if the metric is BLEU."""
        columns = problem.scorer.bleu_columns
        if columns is None or not self.longer_references:
            return problem.statistics
        statistics = np.array(problem.statistics, np.float64)
        statistics[:, columns[-1]] += self.longer_references
        return statistics

    def _mean(self, start: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of the prior."""
        return start if self.prior == "previous" else np.zeros_like(start)

    def learnt(
        self,
        problem: Problem,
        better: NDArray[np.int64],
        worse: NDArray[np.int64],
        start: NDArray[np.float64],
        *,
        runtime: Runtime = Runtime(),
    ) -> tuple[NDArray[np.float64], float]:
        """Return the weights that rank pairs best, and their loss."""
        mean, pairs = self._mean(start), differences(problem, better, worse)
        # In units in which all weights have about the same curvature, a tenth of the steps will do; the optimum is the
        # same. The second derivative of 2 log(1 + exp(-x)) is at most 1/2.
        squares = np.bincount(pairs.indices, pairs.data**2, minlength=len(mean))
        units = 1 / np.sqrt(squares / 2 + 1 / self.variance)

        def in_units(moved: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            loss, gradient = ranking_loss(mean + units * moved, pairs, mean, self.variance)
            return loss, units * gradient

        moved, loss = least(in_units, np.zeros_like(mean), runtime=runtime)
        return mean + units * moved, loss


def least(
    loss: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]],
    start: NDArray[np.float64],
    *,
    bounds: NDArray[np.float64] | None = None,
    runtime: Runtime = Runtime(),
) -> tuple[NDArray[np.float64], float]:
    """Go to where a loss, given with its gradient, is least, within `bounds` (low and high, a row each)."""
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    # One thread, because sums of several depend on how many there are.
    with runtime.stage("ranking pairs"), threadpool_limits(1):
        found = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": MAX_STEPS, "maxfun": 10 * MAX_STEPS, "ftol": 1e-10, "gtol": 1e-6},
        )
    if found.nit >= MAX_STEPS or not np.isfinite(found.fun):
        runtime.warn(f"L-BFGS did not find the best weights in {found.nit:,} steps")
    return np.asarray(found.x, np.float64), float(found.fun)


def ranking_loss(
    weights: NDArray[np.float64], pairs: Any, mean: NDArray[np.float64], variance: float
) -> tuple[float, NDArray[np.float64]]:
    """Return the logistic loss of pairs in both directions, with the Gaussian prior, and its gradient."""
    margins = pairs @ weights
    away = weights - mean
    decline = np.exp(-np.logaddexp(0.0, margins))  # 1 / (1 + exp(margin)), without overflow
    loss = 2 * float(np.logaddexp(0.0, -margins).sum()) + float(away @ away) / (2 * variance)
    return loss, away / variance - 2 * (pairs.T @ decline)
