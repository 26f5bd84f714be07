"""IBM Model 1 (Brown et al. 1993): the prior over the words of the other side, and NULL, is uniform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.training.align.base import DirectionalAligner, Passes
from dragoman.training.align.translation_table import TranslationTable


@dataclass(frozen=True)
class Model1(DirectionalAligner):
    """IBM Model 1, trained by EM. O(words²) per sentence pair and iteration."""

    name: ClassVar[str] = "model1"

    iterations: int = option(5, "EM iterations", minimum=1)
    variational_bayes: bool = option(False, "put a Dirichlet prior on the translation probabilities")
    alpha: float = option(0.01, "the Dirichlet prior's parameter", minimum=0.001)

    @property
    def corpus_passes(self) -> int:
        """Number of passes of one direction through the corpus."""
        return self.iterations + 1

    def align_direction(
        self, table: TranslationTable, *, passes: Passes, runtime: Runtime = Runtime()
    ) -> NDArray[np.int32]:
        """Train one direction; return the given position of each generated token, or -1 if it has none."""
        train_model1(table, self.iterations, self.alpha if self.variational_bayes else None, passes)
        return table.likeliest(0.0, None, passes.next())


def train_model1(table: TranslationTable, iterations: int, alpha: float | None, passes: Passes) -> None:
    """Improve the translation probabilities of all pairs by EM."""
    for _ in range(iterations):
        table.improve(0.0, None, alpha, passes.next())
