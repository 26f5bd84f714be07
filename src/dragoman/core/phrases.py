"""Phrase pairs and n-grams as columns, as they are trained, stored in files, and indexed by models."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Vocab
from dragoman.core.ragged import Ragged


@dataclass(frozen=True, eq=False)
class PairColumns:
    """Phrase pairs with scores, the base of all kinds of tables.

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
    """Components of a mixture of tables: `probabilities[i, t]` are the scores of pair `i` in table `names[t]`.

    They are 0 if the table does not have the pair.
    """

    names: tuple[str, ...]
    probabilities: NDArray[np.float32]

    def take(self, rows: NDArray[np.integer]) -> Components:
        """Return the components of the given pairs, in that order."""
        return replace(self, probabilities=self.probabilities[rows])

    def mixed(self, interpolation_weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the mixture, a column per score; weights have a row per score.

        >>> parts = Components(("in", "out"), np.array([[[0.5], [0.25]], [[0.0], [1.0]]], np.float32))
        >>> parts.mixed(np.array([[0.75, 0.25]])).tolist()
        [[0.4375], [0.25]]
        """
        mixture = np.zeros((len(self.probabilities), self.probabilities.shape[2]))
        for t in range(len(self.names)):
            mixture += self.probabilities[:, t] * interpolation_weights[:, t]
        return mixture


@dataclass(frozen=True, eq=False)
class PhrasePairs(PairColumns):
    """A table of phrase pairs, grouped by source phrase.

    Scores have a column for each name in `score_names`. `alignments` holds the links inside each pair as
    `256 * source position + target position`, in the order of the file or of (source, target). `counts` holds the
    occurrences of target, source and pair. `reordering` maps the name of each lexicalised reordering model to its
    probabilities, six per pair. A mixture of tables whose weights are not fixed yet has `components`, and
    `reordering_components` by the name of the reordering model if orientations are mixed, too. The last five may be
    absent.
    """

    score_names: tuple[str, ...]
    alignments: Ragged[np.uint16] | None = None
    counts: NDArray[np.float32] | None = None
    reordering: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    components: Components | None = None
    reordering_components: dict[str, Components] = field(default_factory=dict)

    def take(self, rows: NDArray[np.integer]) -> PhrasePairs:
        """Return the given pairs, in that order; the lists of distinct phrases are unchanged."""
        return replace(
            self,
            source_ids=self.source_ids[rows],
            target_ids=self.target_ids[rows],
            scores=self.scores[rows],
            alignments=None if self.alignments is None else self.alignments.take(rows),
            counts=None if self.counts is None else self.counts[rows],
            reordering={name: values[rows] for name, values in self.reordering.items()},
            components=None if self.components is None else self.components.take(rows),
            reordering_components={name: parts.take(rows) for name, parts in self.reordering_components.items()},
        )


#: The four scores of a phrase table, in Moses' order.
PHRASE_SCORES = ("bwd", "bwd_lex", "fwd", "fwd_lex")

#: The six scores of an msd-bidirectional-fe reordering table, in Moses' order.
REORDERING_SCORES = ("bwd.mono", "bwd.swap", "bwd.other", "fwd.mono", "fwd.swap", "fwd.other")

#: The two distributions that they are, each over three orientations.
DIRECTIONS = ("bwd", "fwd")


@dataclass(frozen=True, eq=False)
class NGramTable:
    """The n-grams of one order: `words` has one row of ids each, in text order; logarithms are to base 10.

    `backoffs` is 0 for n-grams that are not the context of a longer one, and for all of the highest order.
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
        """Length of the longest n-grams."""
        return len(self.orders)
