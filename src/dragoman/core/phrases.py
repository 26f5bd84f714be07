"""Phrase pairs and n-grams as columns: what training makes, what files hold, and what a model indexes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab


@dataclass(frozen=True, eq=False)
class PairColumns:
    """Phrase pairs with scores: what all kinds of tables have.

    `sources` and `targets` hold each distinct phrase once, as ids of the two vocabularies; pair `i` is
    (`sources[source_ids[i]]`, `targets[target_ids[i]]`) with the row `scores[i]`, probabilities as in table files, not
    logarithms.
    """

    source_vocab: Vocab
    target_vocab: Vocab
    sources: Ragged[np.int32]
    targets: Ragged[np.int32]
    source_ids: NDArray[np.int32]
    target_ids: NDArray[np.int32]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.source_ids)


@dataclass(frozen=True, eq=False)
class Components:
    """What a mixture of tables is mixed of: `probabilities[i, t]` are the scores that table `names[t]` gives pair `i`.

    They are 0 where a table lacks the pair.
    """

    names: tuple[str, ...]
    probabilities: NDArray[np.float32]

    def take(self, rows: NDArray[np.integer]) -> Components:
        """Return those of the given pairs, in that order."""
        return replace(self, probabilities=self.probabilities[rows])

    def mixed(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mixture's probabilities, a column for each score; `shares` has a row for each score.

        >>> parts = Components(("in", "out"), np.array([[[0.5], [0.25]], [[0.0], [1.0]]], np.float32))
        >>> parts.mixed(np.array([[0.75, 0.25]])).tolist()
        [[0.4375], [0.25]]
        """
        mixture = np.zeros((len(self.probabilities), self.probabilities.shape[2]))
        for t in range(len(self.names)):
            mixture += self.probabilities[:, t] * shares[:, t]
        return mixture


@dataclass(frozen=True, eq=False)
class PhrasePairs(PairColumns):
    """A table of phrase pairs; those of one source phrase stand together.

    Scores have a column for each name in `score_names`. `alignments` holds the links inside each pair as
    `256 * source position + target position`, in the order of the file or of (source, target); `counts` the
    occurrences of target, source and pair; `reordering` maps the name of each lexicalised reordering model to its
    probabilities, six a pair. A mixture of tables that is not fixed yet has `components`. The last four may be absent.
    """

    score_names: tuple[str, ...]
    alignments: Ragged[np.uint16] | None = None
    counts: NDArray[np.float32] | None = None
    reordering: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    components: Components | None = None

    def take(self, rows: NDArray[np.integer]) -> PhrasePairs:
        """Return the given pairs, in that order; the lists of distinct phrases stay as they are."""
        return replace(
            self,
            source_ids=self.source_ids[rows],
            target_ids=self.target_ids[rows],
            scores=self.scores[rows],
            alignments=None if self.alignments is None else self.alignments.take(rows),
            counts=None if self.counts is None else self.counts[rows],
            reordering={name: values[rows] for name, values in self.reordering.items()},
            components=None if self.components is None else self.components.take(rows),
        )


#: The four scores of a phrase table, in the order in which Moses writes them.
PHRASE_SCORES = ("bwd", "bwd_lex", "fwd", "fwd_lex")

#: The six scores of an msd-bidirectional-fe reordering table, in the order in which Moses writes them.
REORDERING_SCORES = ("bwd.mono", "bwd.swap", "bwd.other", "fwd.mono", "fwd.swap", "fwd.other")


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
