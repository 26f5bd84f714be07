"""The hidden Markov alignment model (Vogel, Ney & Tillmann 1996; NULL as in Och & Ney 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.training.align.base import DirectionalAligner, Passes
from dragoman.training.align.hmm_passes import HmmPasses
from dragoman.training.align.model1 import train_model1
from dragoman.training.align.translation_table import TranslationTable


@dataclass(frozen=True)
class Hmm(DirectionalAligner):
    """A link depends on the jump from the link before; initialised by Model 1, trained by Baum-Welch.

    O(words³) per sentence pair and iteration, and 4 bytes per cell of each sentence pair, in memory or on disk.
    """

    name: ClassVar[str] = "hmm"
    by_direction: ClassVar[bool] = True

    iterations: int = option(5, "iterations of Baum-Welch", minimum=1)
    model1_iterations: int = option(5, "iterations of Model 1 before Baum-Welch", minimum=0)
    null_probability: float = option(0.2, "prior probability of an unaligned word", minimum=0, maximum=0.99)
    max_jump: int = option(10, "longer jumps share one weight per direction", minimum=1, maximum=65_535)
    uniform_share: float = option(
        0.2, "interpolation weight of a uniform distribution over jumps", minimum=0.000001, maximum=1
    )
    variational_bayes: bool = option(True, "put a Dirichlet prior on the translation probabilities")
    alpha: float = option(0.01, "the Dirichlet prior's parameter", minimum=0.001)

    @property
    def corpus_passes(self) -> int:
        """Number of passes of one direction through the corpus."""
        return self.model1_iterations + self.iterations + 1

    def align_direction(
        self, table: TranslationTable, *, passes: Passes, runtime: Runtime = Runtime()
    ) -> NDArray[np.int32]:
        """Train one direction; return the given position of each generated token, or -1 if it has none."""
        alpha = self.alpha if self.variational_bayes else None
        train_model1(table, self.model1_iterations, alpha, passes)
        sentences = HmmPasses(table)
        if sentences.left_out:
            runtime.warn(f"the hmm aligner does not align {sentences.left_out} sentence pairs of thousands of words")
        settings = self.uniform_share, self.null_probability
        jumps = np.ones(2 * self.max_jump + 3)
        for _ in range(self.iterations):
            uses, chances = sentences.improve(jumps, *settings, alpha, passes.next())
            jumps = updated_jumps(jumps, uses, chances)
        return sentences.likeliest(jumps, *settings, passes.next())


def updated_jumps(
    jumps: NDArray[np.float64], uses: NDArray[np.float64], chances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return new weights of jumps: uses per chance, never quite zero; jumps without a chance keep their weight."""
    updated = np.divide(uses, chances, out=jumps.copy(), where=chances > 0)
    return np.asarray(np.maximum(updated / updated.sum(), 1e-9))
