"""Whether words that come again in a document are translated the same way again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.options import option
from dragoman.core.vocab import SPECIAL, Vocab
from dragoman.model.feature_types import DocumentFeature


@dataclass(frozen=True)
class LexicalConsistency(DocumentFeature):
    """The sum of k(f) (max_e Dice(f, e) - 1) over source content words f that k(f) > 1 sentences have; 0 at best.

    Dice(f, e) = 2 c(f, e) / (k(f) + T(e)), where T(e) translations have the target word e, and c(f, e) of them are of
    sentences with f; it is 1 if just these have e. So each repeated word should have a partner that comes and goes
    with it, and a sentence without it costs about a half. Measures of consistency count how the links of a repeated
    word are spread over target words (Itagaki et al. 2007, Guillou 2013), and cache models prefer pairs that were used
    before (Tiedemann 2010). A feature of words has no links; like early word aligners it goes by co-occurrence.

    Content words have at least `min_length` characters, one of them a letter. The cost of a change is about the number
    of the repeated words that stand with the words that come and go, see `kernels/sampling/lexical_consistency.hpp`.
    """

    name: ClassVar[str] = "lexical_consistency"

    min_length: int = option(4, "shorter words do not count, on both sides", minimum=1)

    def symbols(self, vocab: Vocab) -> NDArray[np.int32]:
        """The number of a content word; 0 for words without a letter, short ones, and such as `&quot;`."""
        blob = np.append(vocab.blob, np.uint8(0))
        starts = vocab.offsets[:-1]
        # All but the first byte of a character look like 10xxxxxx.
        characters = np.add.reduceat((blob & 0xC0) != 0x80, starts, dtype=np.int64)
        characters[-1] -= 1  # the byte that was appended
        # Bit 0x20 makes ASCII letters small; characters beyond ASCII count as letters.
        small = blob | 0x20
        letters = np.logical_or.reduceat((blob >= 0x80) | ((small >= ord("a")) & (small <= ord("z"))), starts)
        content = letters & (characters >= self.min_length) & (blob[starts] != ord("&"))
        content[: len(SPECIAL)] = False
        return np.where(content, np.arange(len(vocab), dtype=np.int32), np.int32(0))

    @property
    def incremental(self) -> int:
        """The address of the compiled functions."""
        return kernels.global_functions()["lexical_consistency"]
