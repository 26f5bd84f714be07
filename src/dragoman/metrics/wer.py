"""WER: word error rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.metrics.error_rate import ErrorRate
from dragoman.metrics.preparation import words_as_in_sacrebleu
from dragoman.metrics.references import Preparation
from dragoman.metrics.signature import signature


@dataclass(frozen=True)
class Wer(ErrorRate):
    """Word error rate (Niessen et al. 2000): the Levenshtein distance to the closest reference.

    Costs the product of the two lengths for each hypothesis and reference.
    """

    name: ClassVar[str] = "wer"

    lowercase: bool = option(False, "ignore case")

    def signature(self) -> str:
        """Return what must be known to get the same number again."""
        return signature(self.name, case="lc" if self.lowercase else "mixed", refs="fewest-edits", reflen="average")

    def preparation(self) -> Preparation:
        """Lower-case if wanted."""
        return lambda corpus: words_as_in_sacrebleu(corpus, lowercase=self.lowercase)

    def edits(
        self,
        hypotheses: Ragged[np.int32],
        sentences: NDArray[np.int64],
        references: Ragged[np.int32],
        threads: int,
    ) -> NDArray[np.int64]:
        """Count insertions, deletions and substitutions."""
        return kernels.edit_distances(
            hypotheses.values, hypotheses.offsets, sentences, references.values, references.offsets, threads
        )
