"""MIRA with several hypotheses a sentence, solved in batches (Chiang et al. 2008, Schuth 2010)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.tuning.methods.method import Optimum, Tuner
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.problems.pseudo_document import Gains, sentence_orders
from dragoman.tuning.runs.trust_region import TrustRegion

#: Largest gap between primal and dual per sentence, in units of C · B.
TOLERANCE = 1e-3
MAX_SWEEPS = 1000


@dataclass(frozen=True)
class MiraSmo(Tuner):
    """MIRA by SMO: D. Chiang, Y. Marton and P. Resnik, Online Large-Margin Training (EMNLP 2008), section 2.

    For a batch of sentences takes the hypotheses of each that are best by the model (w·h), by hope (w·h + B; the first
    is the oracle e*) and by fear (w·h - B), where B is the score within a pseudo-document O, and sets the weights to

        argmin over w' of |w' - w|² / 2 + C Σ_i max_j (B(e*_i) - B(e_ij) - w'·(h(e*_i) - h(e_ij)))     (equation 1)

    by sequential minimal optimisation of the dual. O ← decay · (O + c(ê)) with each 1-best translation ê. Returns the
    average of the weights after each batch of the last pass; the objective is the metric on these lists.

    A pass reads each feature value once, and computes for each sentence the products of all pairs of its hypotheses;
    there may be any number of features. Departures: hypotheses come from n-best lists, not from forests; batches take
    the place of sentences that processors decode side by side; the pseudo-document changes between batches, not within
    them, and begins with a perfect translation of four words; the size of a sentence is its reference length, and that
    is the metric's, by default the closest (Chiang et al. take the shortest); features are as the lists have them, with
    natural logarithms (Chiang et al.: base 100). With `batch_size=0` and `passes=1` the whole set is one batch and
    nothing is averaged, as in Schuth (2010, section 4.2, algorithm 3).
    """

    name: ClassVar[str] = "mira-smo"
    region: ClassVar[TrustRegion | None] = TrustRegion(enough=0.95)

    C: float = option(0.01, "largest step that one sentence may cause; smaller is more cautious", minimum=0)
    decay: float = option(0.9, "factor by which the pseudo-document decays after each sentence", minimum=0, maximum=1)
    hypotheses: int = option(10, "hypotheses of each kind (model, hope, fear) per sentence", minimum=1)
    batch_size: int = option(20, "sentences that are solved together; 0 for all", minimum=0)
    passes: int = option(8, "passes over the sentences", minimum=1)
    shuffle: bool = option(True, "visit sentences in another order in each pass")

    def improve(
        self, problem: Problem, start: NDArray[np.float64], rng: np.random.Generator, runtime: Runtime
    ) -> Optimum:
        """Run all passes."""
        gains = Gains.of(problem)
        candidates = gains.candidates
        weights, document = start, gains.begin(start, self.decay)
        kinds = Ragged(np.arange(len(gains.statistics)), gains.kind_offsets)
        worth = np.zeros(len(gains.statistics))
        unsolved = 0
        orders = sentence_orders(problem, self.passes, rng if self.shuffle else None)
        with runtime.stage("MIRA") as progress_callback:
            for number, order in enumerate(orders):
                size = self.batch_size
                batches = np.split(order, range(size, len(order), size)) if size else [order]
                total = np.zeros_like(weights)
                for done, batch in enumerate(batches):
                    members = kinds.take(batch).values
                    worth[members] = gains.within(document, members)
                    weights, best, _, sweeps = kernels.mira_smo_batch(
                        candidates,
                        kinds=gains.kinds,
                        gains=worth,
                        batch=batch,
                        weights=weights,
                        hypotheses=self.hypotheses,
                        C=self.C,
                        tolerance=TOLERANCE,
                        max_sweeps=MAX_SWEEPS,
                    )
                    unsolved += sweeps == MAX_SWEEPS
                    total += weights
                    translations = gains.statistics[gains.kinds[best]]
                    document = kernels.decayed_sums(translations, document, self.decay, self.decay)[-1]
                    progress_callback((number + (done + 1) / len(batches)) / self.passes)
        if unsolved:
            runtime.warn(f"{unsolved:,} of MIRA's updates stopped before they were exact; a smaller C is easier")
        average = total / len(batches)
        return Optimum(average, problem.objective(average))
