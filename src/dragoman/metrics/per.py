"""PER: position-independent word error rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runtime import Runtime
from dragoman.metrics.error_rate import WordErrorRate
from dragoman.metrics.references import Compared


@dataclass(frozen=True)
class Per(WordErrorRate):
    """Position-independent error rate (Tillmann et al. 1997): word error rate of sentences as bags of words.

    Words without a partner on the other side are substitutions; what is left of the longer side is insertions or
    deletions: max(length, reference length) - matches.
    """

    name: ClassVar[str] = "per"

    def edits(self, compared: Compared, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
        """Count words without a partner, on the side that has more of them."""
        longer = np.maximum(compared.hypotheses.lengths, compared.references.lengths[compared.sentences])
        return longer - compared.matches(1, runtime=runtime)[:, 0].astype(np.int64)
