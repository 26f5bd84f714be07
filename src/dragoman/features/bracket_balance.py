"""Balance of brackets: a translation should leave as many brackets open as its source."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import UNK, Vocab
from dragoman.model.feature_types import SentenceFeature

#: Brackets, and their escapes by the tokeniser of Moses.
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("&#91;", "&#93;"), ("-lrb-", "-rrb-"), ("«", "»"))


class BracketBalance(SentenceFeature):
    """Minus the absolute difference between the numbers of unpaired brackets in target and source."""

    name: ClassVar[str] = "bracket_balance"

    def symbols(self, vocab: Vocab) -> NDArray[np.int32]:
        """Return the kind of bracket (from 1) that each word opens, or minus the kind that it closes; 0 for others."""
        symbols = np.zeros(len(vocab), np.int32)
        for kind, (opening, closing) in enumerate(_PAIRS, 1):
            for word, symbol in ((opening, kind), (closing, -kind)):
                symbols[vocab.id(word)] = symbol
        symbols[UNK] = 0  # the id of words that are not in the vocabulary
        return symbols

    @property
    def address(self) -> int:
        """Return the address of the compiled function."""
        return kernels.global_functions()["bracket_balance"]
