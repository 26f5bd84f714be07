"""IBM Model 1 (Brown et al. 1993): every word of the other side, and NULL, is equally likely beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.options import option
from dragoman.core.progress import Progress
from dragoman.training.align.base import DirectionalAligner, Passes
from dragoman.training.align.cooccurrence import Cooccurrence


@dataclass(frozen=True)
class Model1(DirectionalAligner):
    """IBM Model 1, trained by EM. O(words²) for each sentence pair and iteration."""

    name: ClassVar[str] = "model1"

    iterations: int = option(5, "EM iterations", minimum=1)
    variational_bayes: bool = option(False, "put a Dirichlet prior on the translation probabilities")
    alpha: float = option(0.01, "the Dirichlet prior's parameter", minimum=0.001)

    @property
    def corpus_passes(self) -> int:
        """How often one direction walks through the corpus."""
        return self.iterations + 1

    def align_direction(
        self, cooccurrence: Cooccurrence, *, threads: int, progress: Progress, passes: Passes
    ) -> NDArray[np.int32]:
        """Train one direction; return the given position of each generated token, or -1 where it has none."""
        alpha = self.alpha if self.variational_bayes else None
        probabilities = train_model1(cooccurrence, self.iterations, alpha, threads=threads, passes=passes)
        return kernels.likeliest_given(cooccurrence, probabilities, 0.0, None, threads, passes.next())


def train_model1(
    cooccurrence: Cooccurrence, iterations: int, alpha: float | None, *, threads: int, passes: Passes
) -> NDArray[np.float64]:
    """Return the translation probabilities of all pairs after EM from uniform ones."""
    probabilities = cooccurrence.uniform()
    for _ in range(iterations):
        counts, _, _, _ = kernels.expected_counts(cooccurrence, probabilities, 0.0, None, threads, passes.next())
        probabilities = cooccurrence.translation_probabilities(counts, alpha, threads=threads)
    return probabilities
