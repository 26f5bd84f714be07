"""Batch MIRA on n-best lists, with hope and fear (Cherry & Foster 2012)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import Optimum, Tuner
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.problems.pseudo_document import Gains, sentence_orders
from dragoman.tuning.runs.trust_region import TrustRegion


@dataclass(frozen=True)
class Mira(Tuner):
    """Batch MIRA on n-best lists: C. Cherry and G. Foster, Batch Tuning Strategies for SMT (NAACL 2012), section 3.1.

    Minimises a structured hinge loss by passes over the sentences. Each takes the candidate to hope for, the one with
    the highest w·h + B, and the one to fear, with the highest w·h - B, where B is the score within a pseudo-document,
    and if the hope is really better moves the weights towards it just as far as is needed to make the model prefer it
    by that difference, but by no more than C:

        w += min(C, (ΔB - w·Δh) / |Δh|²) Δh

    After each pass the average of all weights so far is a proposal; of the start and all proposals the one that scores
    best on these lists is returned, its score being the objective. If that is the start, a run takes a
    short step towards the best proposal, because new lists from there may tell more. The defaults are those of Moses'
    kbmira.

    A pass reads each feature value twice; there may be any number of features. Departures: with metrics
    other than BLEU the pseudo-document changes after each pass only, not after each sentence.
    """

    name: ClassVar[str] = "mira"
    region: ClassVar[TrustRegion | None] = TrustRegion(enough=0.95)

    C: float = option(0.01, "largest step of an update; smaller is more cautious", minimum=0)
    decay: float = option(0.999, "factor by which the pseudo-document decays after each sentence", minimum=0, maximum=1)
    epochs: int = option(60, "passes over the sentences", minimum=1)
    shuffle: bool = option(True, "visit sentences in another order in each pass")

    def improve(
        self, problem: Problem, start: NDArray[np.float64], rng: np.random.Generator, runtime: Runtime
    ) -> Optimum:
        """Run all passes."""
        gains = Gains.of(problem)
        weights, document = start, gains.begin(start, self.decay)
        drift = np.zeros_like(weights)
        candidates = gains.candidates
        kinds = kernels.Kinds(
            of_rows=gains.kinds,
            offsets=gains.kind_offsets,
            statistics=gains.statistics,
            bleu_columns=gains.bleu_columns,
        )
        at_start, best = Optimum(weights, problem.objective(weights)), Optimum(weights, -np.inf)
        orders = sentence_orders(problem, self.epochs, rng if self.shuffle else None)
        with runtime.stage("MIRA") as progress_callback:
            for epoch, order in enumerate(orders):
                weights, drift, document, updates, _ = kernels.mira_epoch(
                    candidates,
                    kinds,
                    gains=np.empty(0) if len(gains.bleu_columns) else gains.within(document),
                    order=order,
                    weights=weights,
                    drift=drift,
                    background=document,
                    ticks=epoch * len(order),
                    C=self.C,
                    decay=self.decay,
                )
                average = weights - drift / ((epoch + 1) * len(order))
                rows = kernels.best_rows(candidates, weights=average, threads=runtime.threads)
                value = problem.sign * float(problem.scorer.score(problem.statistics[rows].sum(axis=0)))
                if value > best.objective:
                    best = Optimum(average, value)
                progress_callback((epoch + 1) / self.epochs)
                if updates == 0:
                    break
        return best if best.objective > at_start.objective else replace(at_start, others=best.weights[None])
