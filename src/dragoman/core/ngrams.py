"""N-grams with probabilities as columns: what estimation makes, what ARPA files hold, what a language model indexes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.vocab import Vocab


@dataclass(frozen=True, eq=False)
class NGramTable:
    """The n-grams of one order: `words` has one row of ids each, in text order; logarithms are to base 10.

    `backoffs` is zero where an n-gram is no context of a longer one, and throughout at the highest order.
    """

    words: NDArray[np.int32]
    logprobs: NDArray[np.float32]
    backoffs: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, eq=False)
class NGrams:
    """A back-off language model as tables, `orders[n - 1]` for order n, over the words of `vocab`."""

    vocab: Vocab
    orders: tuple[NGramTable, ...]

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.orders)
