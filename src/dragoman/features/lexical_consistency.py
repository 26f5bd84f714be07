"""Consistent translation of words that are repeated in a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import SPECIAL, Vocab
from dragoman.core.options import option
from dragoman.model.feature_types import DocumentFeature


@dataclass(frozen=True)
class LexicalConsistency(DocumentFeature):
    """The sum of k(f) (max_e Dice(f, e) - 1) over source content words f that occur in k(f) > 1 sentences; at most 0.

    Dice(f, e) = 2 c(f, e) / (k(f) + T(e)), where T(e) is the number of translations with the target word e, and c(f, e)
    the number of those whose source has f. It is 1 if exactly the translations of f have e. So each repeated word
    should have a partner in exactly its translations, and each sentence without it costs about a half. Measures of
    consistency count how the links of a repeated word are spread over target words (Itagaki et al. 2007, Guillou 2013),
    and cache models prefer pairs that were used before (Tiedemann 2010). This feature sees no links; like early word
    aligners it relies on co-occurrence.

    Content words have at least `min_length` characters, one of them a letter. The cost of a change is about the number
    of repeated words that co-occur with the words that change, see `kernels/sampling/lexical_consistency.hpp`.
    """

    name: ClassVar[str] = "lexical_consistency"

    min_length: int = option(4, "shortest word that counts, in characters, on both sides", minimum=1)

    def symbols(self, vocab: Vocab) -> NDArray[np.int32]:
        """Number the content words; 0 for words without a letter, short words, and entities like `&quot;`."""
        blob = np.append(vocab.blob, np.uint8(0))
        starts = vocab.offsets[:-1]
        # All but the first byte of a character look like 10xxxxxx.
        characters = np.add.reduceat((blob & 0xC0) != 0x80, starts, dtype=np.int64)
        characters[-1] -= 1  # the byte that was appended
        # Bit 0x20 lower-cases ASCII letters; characters beyond ASCII count as letters.
        small = blob | 0x20
        letters = np.logical_or.reduceat((blob >= 0x80) | ((small >= ord("a")) & (small <= ord("z"))), starts)
        content = letters & (characters >= self.min_length) & (blob[starts] != ord("&"))
        content[: len(SPECIAL)] = False
        return np.where(content, np.arange(len(vocab), dtype=np.int32), np.int32(0))

    @property
    def incremental(self) -> int:
        """Return the address of the compiled functions."""
        return kernels.global_functions()["lexical_consistency"]
