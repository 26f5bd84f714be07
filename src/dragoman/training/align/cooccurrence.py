"""Which words occur in the same sentence pairs, as arrays that the alignment kernels walk over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime


@dataclass(frozen=True, eq=False, kw_only=True)
class Cooccurrence:
    """A bitext seen from one side: words of the `generated` corpus come from words of the `given` corpus or NULL.

    Each generated word has a row of pairs: NULL and the given words that occur with it, each once. Parameters and
    counts of a model are arrays that run parallel to `pair_given`. A table may have the tokens and pairs of some words
    only.
    """

    given: Ragged[np.int32]
    generated: Ragged[np.int32]
    token_sentences: NDArray[np.int32]  #: of each generated token, grouped by word
    token_positions: NDArray[np.int32]
    token_groups: NDArray[np.int64]  #: where the tokens of each generated word begin
    pair_offsets: NDArray[np.int64]  #: where the row of each generated word begins
    pair_given: NDArray[np.int32]  #: the given word of each pair
    null_word: int  #: the number of NULL, one past the given vocabulary

    @classmethod
    def of(cls, given: Corpus, generated: Corpus, *, runtime: Runtime = Runtime()) -> Cooccurrence:
        """Collect the pairs of a bitext.

        >>> table = Cooccurrence.of(Corpus.from_lines(["la maison", "la"]), Corpus.from_lines(["the house", "the"]))
        >>> table.pair_given.tolist(), table.pair_offsets.tolist()  # words 0 to 2 are special, 5 is NULL
        ([5, 3, 4, 5, 3, 4], [0, 0, 0, 0, 3, 6])
        """
        ours, theirs = given.sentences, generated.sentences
        null_word = len(given.vocab)
        sentences, positions, groups = kernels.group_tokens(
            theirs.values, theirs.offsets, ours.offsets, len(generated.vocab)
        )
        pair_offsets, pair_given = kernels.cooccurring_words(
            ours.values, ours.offsets, sentences, groups, null_word, runtime.threads
        )
        return cls(
            given=ours,
            generated=theirs,
            token_sentences=sentences,
            token_positions=positions,
            token_groups=groups,
            pair_offsets=pair_offsets,
            pair_given=pair_given,
            null_word=null_word,
        )

    def for_kernels(self) -> kernels.Cooccurrence:
        """Return the table as kernels take it."""
        sides = {"given": self.given.for_kernels(), "generated": self.generated.for_kernels()}
        return kernels.Cooccurrence(**{**vars(self), **sides})

    @property
    def tokens(self) -> int:
        """The number of generated tokens that have something to come from."""
        return len(self.token_sentences)

    def uniform(self) -> NDArray[np.float64]:
        """Translation probabilities that know nothing: the same for every generated word."""
        words = int(np.count_nonzero(np.diff(self.token_groups)))
        return np.full(len(self.pair_given), 1.0 / max(words, 1))
