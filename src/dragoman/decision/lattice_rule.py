"""Common parts of rules over hypergraphs: scaling, pruning, and values of n-grams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import common_vocab
from dragoman.core.errors import UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.decision.posterior import PosteriorRule
from dragoman.decision.rule import Decisions
from dragoman.forest.derivation import best_derivation, yields
from dragoman.forest.inside_outside import max_inside
from dragoman.forest.kbest import kbest
from dragoman.forest.ngrams import NGramExpectations
from dragoman.forest.prune import prune_to_density

#: Sentences that are under way, or wait for a slower one before them.
_WINDOW = 64


class ScoredString(NamedTuple):
    """The translation of one sentence and its value under the rule."""

    words: NDArray[np.int32]
    value: float


class Candidates(NamedTuple):
    """Distinct strings of a hypergraph, best derivation first, with the scores of these derivations."""

    strings: Ragged[np.int32]
    scores: NDArray[np.float64]

    @property
    def bounds(self) -> NDArray[np.int64]:
        """The bounds of their only sentence."""
        return np.array([0, len(self.strings)])


@dataclass(frozen=True)
class LatticeRule(PosteriorRule):
    """A rule that can decide by hypergraphs."""

    density: float = option(
        50.0, "hypergraphs: keep this many edges per word, of the best derivations; 0: no pruning", minimum=0
    )

    def evidence_graph(self, graph: Hypergraph) -> Hypergraph:
        """Return the hypergraph without features, pruned, and scaled."""
        graph = replace(graph, features=None)
        if self.density:
            graph = prune_to_density(graph, self.density)
        return graph.scaled(self.scale)

    def choose_pruned(
        self,
        graphs: Sequence[Hypergraph],
        choose: Callable[[Hypergraph], ScoredString],
        *,
        runtime: Runtime = Runtime(),
    ) -> Decisions:
        """Apply a function to each hypergraph after `evidence_graph`."""
        return choose_each(graphs, lambda graph: choose(self.evidence_graph(graph)), runtime=runtime)


def choose_each(
    graphs: Sequence[Hypergraph], choose: Callable[[Hypergraph], ScoredString], *, runtime: Runtime = Runtime()
) -> Decisions:
    """Apply a function to each hypergraph that has a derivation."""

    def choice(graph: Hypergraph, _: Runtime) -> ScoredString:
        if max_inside(graph)[graph.root] == -np.inf:
            return ScoredString(np.empty(0, np.int32), np.nan)
        return choose(graph)

    if not graphs:
        raise UsageError("there are no hypergraphs")
    vocab, ids = common_vocab([graph.vocab for graph in graphs])
    found: list[ScoredString] = []
    with runtime.stage("deciding") as progress_callback:
        for one in runtime.here().map(choice, graphs, window=_WINDOW):
            found.append(one)
            progress_callback(len(found) / len(graphs))
    words = [number[one.words] for number, one in zip(ids, found, strict=True)]
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    values = np.array([one.value for one in found], np.float64)
    return Decisions(vocab, Ragged(np.concatenate(words), offsets), values)


def best_string(graph: Hypergraph) -> ScoredString:
    """Return the string of the best derivation, and its score."""
    best = best_derivation(graph)
    return ScoredString(yields(graph, best.as_row()).values, best.score)


def candidates(graph: Hypergraph, count: int) -> Candidates:
    """Return the strings of the best derivations."""
    best = kbest(graph, count, distinct=True)
    return Candidates(yields(graph, best.derivations), best.scores)


@dataclass(frozen=True, eq=False)
class NGramValues:
    """Sentence `s` has the n-grams `sentences[s]` to `sentences[s + 1]`, with a value for each."""

    sentences: NDArray[np.int64]
    ngrams: Ragged[np.int32]
    values: NDArray[np.float64]

    @classmethod
    def of_hypergraph(cls, expectations: NGramExpectations) -> NGramValues:
        """Take the n-grams of one sentence's hypergraph."""
        return cls(np.array([0, len(expectations)]), expectations.ngrams, expectations.values)

    @classmethod
    def expected_counts(
        cls,
        strings: Ragged[np.int32],
        sentences: NDArray[np.int64],
        probabilities: NDArray[np.float64],
        order: int,
        *,
        runtime: Runtime = Runtime(),
    ) -> NGramValues:
        """Return the expected count of each n-gram up to the order, given the probabilities of a sentence's strings."""
        lists = kernels.StringLists(strings=strings.for_kernels(), sentences=sentences)
        bounds, words, offsets, counts = kernels.list_ngrams(lists, probabilities, order, runtime.threads)
        return cls(bounds, Ragged(words, offsets), counts)

    def with_values(self, values: NDArray[np.float64]) -> NGramValues:
        """Return the same n-grams with other values."""
        return replace(self, values=values)

    def sums(
        self,
        strings: Ragged[np.int32],
        sentences: NDArray[np.int64],
        order: int,
        *,
        missing: float = 0.0,
        clipped: bool = False,
        runtime: Runtime = Runtime(),
    ) -> NDArray[np.float64]:
        """Return the sum of the n-grams' values for each string (row) and order (column).

        An n-gram counts at each occurrence, or if `clipped`, min(occurrences, value) in total. An n-gram that is not
        listed for its sentence counts `missing`.
        """
        return kernels.ngram_sums(
            kernels.StringLists(strings=strings.for_kernels(), sentences=sentences),
            kernels.StringLists(strings=self.ngrams.for_kernels(), sentences=self.sentences),
            self.values,
            order,
            missing,
            clipped,
            runtime.threads,
        )
