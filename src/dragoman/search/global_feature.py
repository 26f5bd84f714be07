"""Global features: of a whole sentence or document and its translation, which only a sampler can take into account."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.options import Options
from dragoman.core.vocab import Vocab


@dataclass(frozen=True)
class GlobalFeature(Options, ABC):
    """A number for each sentence, or for each document, that depends on all of its translation.

    A feature sees words as symbols, numbers that `symbols` gives them. It is either a Python function, `value`, or a
    compiled one, for which `address` is overridden: a C function of

        double f(int64_t sentences, const int32_t *source_words, const int64_t *source_offsets,
                 const int32_t *target_words, const int64_t *target_offsets, int64_t changed)

    where the words of sentence i are `words[offsets[i]]` to `words[offsets[i + 1]]`. Numba's `cfunc` makes such
    functions from Python. A feature of level "sentence" is called with one sentence at a time, one of level "document"
    with the present translations of all its sentences; only sentence `changed` differs from the translations that the
    function was called with for the derivation that the chain is in. Threads may call it at the same time.

    A function of a document takes time for all of it at each step. A feature that can do with less overrides
    `incremental`: the address of four C functions, one after the other, with memory for each document and chain,

        void *begin(int64_t sentences, const int32_t *source_words, const int64_t *source_offsets,
                    const int32_t *target_words, const int64_t *target_offsets)
        double propose(void *memory, int64_t sentence, const int32_t *words, int64_t count)
        void accept(void *memory)
        void end(void *memory)

    where `propose` returns the value if one sentence had another translation, and `accept` makes that of the last call
    the present one; without it, the call is to have had no effect. One memory is used by one thread at a time.
    """

    name: ClassVar[str]
    level: ClassVar[Literal["sentence", "document"]] = "sentence"

    def symbols(self, vocab: Vocab) -> NDArray[np.int32]:
        """What the feature sees of each word, of the source as of the target; by default the word's number."""
        return np.arange(len(vocab), dtype=np.int32)

    def value(self, source: Sequence[NDArray[np.int32]], target: Sequence[NDArray[np.int32]], changed: int) -> float:
        """Return the value for sentences and their translations, a row of symbols each."""
        raise NotImplementedError(f"the global feature {type(self).__name__} has neither a value nor an address")

    @property
    def address(self) -> int | None:
        """The address of the compiled function; None: `value` is the function."""
        return None

    @property
    def incremental(self) -> int | None:
        """For level "document": the address of the four functions, which are then used in place of any other."""
        return None
