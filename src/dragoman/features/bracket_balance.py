"""Whether a translation leaves as many brackets open as its source."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.vocab import UNK, Vocab
from dragoman.model.feature_types import SentenceFeature

#: Brackets as they are, and as the tokeniser of Moses writes them.
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("&#91;", "&#93;"), ("-lrb-", "-rrb-"), ("«", "»"))


class BracketBalance(SentenceFeature):
    """Minus the number of brackets without a partner that the target has more, or fewer, than the source."""

    name: ClassVar[str] = "bracket_balance"

    def symbols(self, vocab: Vocab) -> NDArray[np.int32]:
        """The kind of bracket (from 1) that a word opens, or minus the kind that it closes; 0 for other words."""
        symbols = np.zeros(len(vocab), np.int32)
        for kind, (opening, closing) in enumerate(_PAIRS, 1):
            for word, symbol in ((opening, kind), (closing, -kind)):
                symbols[vocab.id(word)] = symbol
        symbols[UNK] = 0  # where words end up that the vocabulary lacks
        return symbols

    @property
    def address(self) -> int:
        """The address of the compiled function."""
        return kernels.global_functions()["bracket_balance"]
