"""WER: word error rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.runtime import Runtime
from dragoman.metrics.error_rate import WordErrorRate
from dragoman.metrics.references import Compared


@dataclass(frozen=True)
class Wer(WordErrorRate):
    """Word error rate (Niessen et al. 2000): the Levenshtein distance to the closest reference.

    Costs the product of the two lengths for each hypothesis and reference.
    """

    name: ClassVar[str] = "wer"

    def edits(self, compared: Compared, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
        """Count insertions, deletions and substitutions."""
        return kernels.edit_distances(compared.for_kernels(), runtime.threads)
