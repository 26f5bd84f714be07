"""PER: position-independent word error rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.ragged import Ragged
from dragoman.metrics.error_rate import WordErrorRate


@dataclass(frozen=True)
class Per(WordErrorRate):
    """Position-independent error rate (Tillmann et al. 1997): word error rate of sentences as bags of words.

    Words without a partner on the other side are substitutions; what is left of the longer side is insertions or
    deletions: max(length, reference length) - matches.
    """

    name: ClassVar[str] = "per"

    def edits(
        self,
        hypotheses: Ragged[np.int32],
        sentences: NDArray[np.int64],
        references: Ragged[np.int32],
        threads: int,
    ) -> NDArray[np.int64]:
        """Count words without a partner, on the side that has more of them."""
        matches = kernels.clipped_ngrams(
            hypotheses.values,
            hypotheses.offsets,
            sentences,
            references.values,
            references.offsets,
            1,
            np.empty((0, 1)),
            1,
            threads,
        )
        longer = np.maximum(hypotheses.lengths, references.lengths[sentences])
        return longer - matches[:, 0].astype(np.int64)
