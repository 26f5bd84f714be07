"""Hope and fear: the derivations of a hypergraph that are best by model score and BLEU together.

Chiang, Marton & Resnik, "Online Large-Margin Training of Syntactic and Structural Translation Features", 2008, section
2.4. BLEU is the score of a document to which the sentence is added,

    B(e) = (size(O) + size(f)) · BLEU(O + c(e))                                        (equation 8)

with counts c of words, n-grams, and n-grams that a reference has, not clipped: BLEU counts an n-gram at most as often
as one reference has it, which is no sum over edges.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.batch import rows_of, structure, texts

#: The longest n-grams that the kernel counts.
HIGHEST_ORDER = 16

#: Largest count of a document; products of larger ones would overflow.
LARGEST_COUNT = 1e15

#: Default number of strings kept per node.
BEAM = 10


class Objective(NamedTuple):
    """An objective of derivations: `score` times the model's score plus `gain` times B."""

    score: float
    gain: float

    def with_gain(self, scale: float) -> Objective:
        """Return the objective with B multiplied by `scale`."""
        return Objective(self.score, scale * self.gain)


#: High model score and low B: the limit of equation 11 for large mu.
FEAR = Objective(1.0, -1.0)


def hope(mu: float = 0.5) -> Objective:
    """Return equation 11: (1 - mu) · B + mu · score. With 0, only BLEU counts, with 1 only the model.

    >>> hope(0.25)
    Objective(score=0.25, gain=0.75)
    """
    return Objective(mu, 1.0 - mu)


@dataclass(frozen=True, eq=False)
class InDocument:
    """The context of B of a sentence's derivations: its references, its length, and a document.

    `references` are words by their own numbers, `word_ids` gives for each word of the hypergraph's vocabulary its
    number among these (negative for words that no reference has). `document` has matches of each order up to `order`,
    n-grams of each order, words, words of references, and size. The sentence has `source_words`, and
    `reference_words` is the reference length.
    """

    references: Ragged[np.int32]
    word_ids: NDArray[np.int32]
    document: NDArray[np.float64]
    source_words: float
    reference_words: float

    @property
    def order(self) -> int:
        """The length of the longest n-grams that count."""
        return (len(self.document) - 3) // 2

    def check(self, graph: Hypergraph) -> None:
        """Refuse inconsistent values, which kernels do not check."""
        if not 1 <= self.order <= HIGHEST_ORDER or len(self.document) != 2 * self.order + 3:
            raise UsageError(
                f"the document has {len(self.document)} numbers; expected two for each order from 1 to at most "
                f"{HIGHEST_ORDER}, and three more"
            )
        if len(self.word_ids) != len(graph.vocab):
            raise DataError(f"{len(self.word_ids)} word ids for a vocabulary of {len(graph.vocab)}", expected="as many")
        numbers = [*self.document.tolist(), self.source_words, self.reference_words]
        if not all(0 <= number <= LARGEST_COUNT for number in numbers):
            raise UsageError(f"the document's counts or the sentence's lengths are not from 0 to {LARGEST_COUNT:g}")


@dataclass(frozen=True, eq=False)
class RankedDerivations:
    """Derivations (edges in pre-order) of different strings, best first, with their scores.

    `scores` are the model's, `values` the objective's, and `counts` has words and matches of each order.
    """

    derivations: Ragged[np.int32]
    scores: NDArray[np.float64]
    values: NDArray[np.float64]
    counts: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.derivations)


def rescore(
    graph: Hypergraph,
    sentence: InDocument,
    objectives: Sequence[Objective],
    k: int = 10,
    *,
    beam: int = BEAM,
    floor: float = -np.inf,
) -> list[RankedDerivations]:
    """Return for each objective the k best strings, each with its best derivation, or as many as there are.

    Goes bottom-up through the hypergraph, as a decoder with a language model does: the state of a partial string is
    its beginning and end, as far as a reference has them, and its counts so far. A node keeps the `beam` best
    strings by the objective, where B is taken as if the node's source words were the whole sentence, with that share of
    the reference's length. That is an approximation, because B is no sum over edges: a string that is not among the
    best of its node may be part of the best of all. With a beam as large as the number of strings nothing is missed.

    `floor` is a score that at least k strings are known to have: edges whose best derivation scores too much less for
    any gain to make up for are left out. The less gains count, the more edges that are. Cost: for each node about
    `beam` times the logarithm of its edges, and a visit of each edge.
    """
    if k < 1 or beam < 1:
        raise UsageError(f"k is {k} and the beam {beam}; expected at least 1")
    if np.isnan(floor):
        raise UsageError("the floor is not a number")
    sentence.check(graph)
    wanted = np.array([*objectives], np.float64).reshape(-1, 2)
    if not np.isfinite(wanted).all():
        raise UsageError("an objective weights the model score or BLEU by a number that is not finite")
    edges, offsets, lists, scores, values, counts = kernels.forest_rescore(
        structure(graph),
        texts(graph),
        root=graph.root,
        spans=np.ascontiguousarray(graph.spans, np.int32),
        sentence=kernels.InDocument(
            references=rows_of(sentence.references),
            word_ids=np.ascontiguousarray(sentence.word_ids, np.int32),
            document=np.ascontiguousarray(sentence.document, np.float64),
            source_words=sentence.source_words,
            reference_words=sentence.reference_words,
        ),
        objectives=wanted,
        k=k,
        beam=beam,
        floor=float(floor),
    )
    every = Ragged(edges, offsets)
    return [
        RankedDerivations(every.take(np.arange(begin, end)), scores[begin:end], values[begin:end], counts[begin:end])
        for begin, end in itertools.pairwise(lists.tolist())
    ]
