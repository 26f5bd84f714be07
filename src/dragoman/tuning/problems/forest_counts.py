"""BLEU's counts of hypergraph edges: words, n-grams, and n-grams that a reference has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import SPECIAL, Corpus, Vocab
from dragoman.core.errors import UsageError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.decision.lattice_rule import NGramValues
from dragoman.forest.log_linear import LogLinear
from dragoman.forest.ngrams import SplitHypergraph, split_by_context
from dragoman.metrics.bleu import BleuScorer
from dragoman.metrics.references import References
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem


@dataclass(frozen=True, eq=False)
class ForestCounts:
    """Hypergraphs that are split by n-grams, so that every derivation's counts are sums over its edges.

    For each edge, `words` is the number of words that it writes, `ngrams` (a column per order) the number of n-grams
    that it completes, and `matches` the number of these in any reference of the sentence, not clipped: BLEU counts an
    n-gram at most as often as one reference has it, which is no sum over edges.
    """

    forests: LogLinear
    words: NDArray[np.float64]
    ngrams: NDArray[np.float64]
    matches: NDArray[np.float64]

    @classmethod
    def of(cls, problem: HypergraphProblem, *, runtime: Runtime = Runtime()) -> ForestCounts:
        """Count once; only scores change with the weights."""
        scorer = bleu_of(problem)
        order = scorer.metric.order
        graphs = [replace(graph, features=None) for graph in problem.batch.graphs()]
        splits = list(runtime.here().map(lambda graph, _: split_by_context(graph, order), graphs, window=len(graphs)))
        forests = LogLinear.of_splits(problem.batch, splits)
        ngrams = Ragged.concatenate([split.ngrams for split in splits])
        bounds = np.cumsum([0, *(len(split.ngrams) for split in splits)], dtype=np.int64)
        matched = _matched(ngrams, bounds, problem.batch.joined.vocab, scorer.references, order, runtime)
        completed = np.concatenate([s.occurrences.values + first for s, first in zip(splits, bounds, strict=False)])
        edge = np.repeat(np.arange(forests.edges), np.concatenate([s.occurrences.lengths for s in splits]))
        cell, cells = edge * order + ngrams.lengths[completed] - 1, forests.edges * order
        return cls(
            forests,
            np.concatenate([_words(split) for split in splits]).astype(np.float64),
            np.bincount(cell, minlength=cells).reshape(-1, order).astype(np.float64),
            np.bincount(cell, matched[completed], minlength=cells).reshape(-1, order).astype(np.float64),
        )


def bleu_of(problem: HypergraphProblem) -> BleuScorer:
    """Return the problem's scorer, if it is BLEU of words without a tokeniser."""
    scorer = problem.scorer
    if not isinstance(scorer, BleuScorer):
        raise UsageError("risk-forest maximises BLEU, and the metric is another one (mert takes any)")
    if scorer.metric.tokenise != "none":
        raise UsageError(
            f"risk-forest counts words as they are, but the metric tokenises them ({scorer.metric.tokenise})"
        )
    return scorer


class ReferenceWords(NamedTuple):
    """The number of each word of a vocabulary among words of references, -1 if these do not have it.

    A word that holds white space of another kind is several for the metric: then not all are `whole`, and it matches
    nothing here.
    """

    ids: NDArray[np.int32]
    whole: bool

    @classmethod
    def of(cls, vocab: Vocab, references: References) -> ReferenceWords:
        """Look up all words."""
        size = len(vocab)
        encoded = references.encode(Corpus(vocab, Ragged(np.arange(size, dtype=np.int32), np.arange(size + 1))))
        ids = np.full(size, -1, np.int32)
        whole = encoded.lengths == 1
        ids[whole] = encoded.values[encoded.offsets[:-1][whole]]
        return cls(ids, bool(whole.all()))

    def and_new(self, vocab: Vocab, references: References) -> ReferenceWords:
        """Return the same for a vocabulary with more words after the known ones."""
        known = len(self.ids)
        if len(vocab) == known:
            return self
        new = ReferenceWords.of(Vocab.of(vocab[i] for i in range(known, len(vocab))), references)
        return ReferenceWords(np.concatenate([self.ids, new.ids[len(SPECIAL) :]]), self.whole and new.whole)


def _matched(
    ngrams: Ragged[np.int32],
    bounds: NDArray[np.int64],
    vocab: Vocab,
    references: References,
    order: int,
    runtime: Runtime,
) -> NDArray[np.float64]:
    """Return 1 for each n-gram that a reference of its sentence has, else 0."""
    ids = ReferenceWords.of(vocab, references).ids
    lines = np.arange(references.lines + 1) * len(references)
    known = NGramValues.expected_counts(
        references.grouped, lines, np.ones(len(references.grouped)), order, runtime=runtime
    )
    ones = known.with_values(np.ones(len(known.values)))
    sums = ones.sums(Ragged(ids[ngrams.values], ngrams.offsets), bounds, order, runtime=runtime)
    # Taken as a string, an n-gram has itself as the only one of its length.
    return sums[np.arange(len(ngrams)), ngrams.lengths - 1]


def _words(split: SplitHypergraph) -> NDArray[np.int64]:
    """Return the number of words that each edge writes itself."""
    templates = split.graph.templates
    before = np.concatenate([[0], np.cumsum(templates.values >= 0)])
    written: NDArray[np.int64] = before[templates.offsets[1:]] - before[templates.offsets[:-1]]
    return written[split.graph.template_ids]
