"""Variational decoding: the most probable string under the n-gram model that is closest to the posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import BOS, EOS
from dragoman.core.errors import UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.lattice_rule import LatticeRule, NGramValues, ScoredString, candidates
from dragoman.decision.rule import Decisions, Evidence, EvidenceKind
from dragoman.forest.derivation import best_derivation, yields
from dragoman.forest.ngrams import split_by_context, split_counts


@dataclass(frozen=True)
class Variational(LatticeRule):
    """The string that maximises Σ over n of θn log qn(e) + θv log p(d) (Li, Eisner & Khudanpur 2009; thesis, 2.16).

    qn is the n-gram model that minimises KL(p || qn): its probabilities are ratios of expected counts (2.18), with
    sentence boundaries, so that it is a distribution over strings. log p(d) is the scaled score of the best derivation,
    or over lists, the string's log-probability. By default only the highest order counts. Hypotheses are all strings of
    the hypergraph, or its best strings. Linear in the edges of the hypergraph split by n-grams. The value is the sum
    that is maximised. Departure: a history counts where another word follows it, which makes qn a distribution; (2.18)
    counts all its occurrences.
    """

    name: ClassVar[str] = "variational"
    takes: ClassVar[tuple[EvidenceKind, ...]] = ("hypergraph", "nbest", "samples")

    order: int = option(4, "length of the longest n-grams", minimum=1, maximum=16)
    theta: str | None = option(
        None, "weights of log q of order 1, 2, …, separated by blanks; by default 1 for the highest, 0 for others"
    )
    derivation_weight: float = option(0.0, "weight of the best derivation's scaled score", minimum=0)
    space: Literal["lattice", "kbest"] = option("lattice", "hypotheses: the whole lattice, or its best strings")
    hypotheses: int = option(1000, "number of strings, if the best ones are the hypotheses", minimum=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.any(self.order_weights) and self.derivation_weight == 0:
            raise UsageError("theta is 0 for all orders; expected something to maximise")

    @property
    def order_weights(self) -> NDArray[np.float64]:
        """The weight of each order's log q."""
        if self.theta is None:
            return np.append(np.zeros(self.order - 1), 1.0)
        try:
            weights = np.array([float(text) for text in self.theta.split()])
        except ValueError:
            weights = np.array([np.nan])
        if len(weights) != self.order or not np.isfinite(weights).all() or bool((weights < 0).any()):
            raise UsageError(f"theta is '{self.theta}'; expected {self.order} numbers, none negative")
        return weights

    def choose(self, evidence: Evidence, *, runtime: Runtime = Runtime()) -> Decisions:
        """Choose the string that is most probable under the n-gram model."""
        if not isinstance(evidence, NBest | Samples):
            return self.choose_pruned(evidence, self._of_hypergraph, runtime=runtime)
        posterior = self.posterior(evidence)
        counts = NGramValues.expected_counts(
            add_sentence_boundaries(posterior.strings, self.order),
            posterior.sentences,
            posterior.probabilities,
            self.order,
            runtime=runtime,
        )
        chosen = posterior.top(self.hypotheses)
        with np.errstate(divide="ignore"):
            scores = np.log(chosen.probabilities)
        values = self._values(log_model(counts), chosen.strings, chosen.sentences, scores, runtime)
        return Decisions.of_best(chosen.vocab, chosen.strings, values, chosen.sentences)

    def _of_hypergraph(self, graph: Hypergraph) -> ScoredString:
        split = split_by_context(bounded_graph(graph, self.order), self.order)
        model = log_model(NGramValues.of_hypergraph(split_counts(split)))
        if self.space == "lattice":
            logs = _weighted(self.order_weights[model.ngrams.lengths - 1], model.values)
            scores = split.edge_sums(logs) + self.derivation_weight * split.graph.scores
            best = best_derivation(replace(split.graph, scores=scores))
            words = yields(split.graph, best.as_row()).values
            return ScoredString(words[self.order - 1 : -1], best.score)
        listed = candidates(graph, self.hypotheses)
        values = self._values(model, listed.strings, listed.bounds, listed.scores, Runtime())
        chosen = int(values.argmax())
        return ScoredString(listed.strings[chosen], float(values[chosen]))

    def _values(
        self,
        model: NGramValues,
        strings: Ragged[np.int32],
        sentences: NDArray[np.int64],
        scores: NDArray[np.float64],
        runtime: Runtime,
    ) -> NDArray[np.float64]:
        sums = model.sums(
            add_sentence_boundaries(strings, self.order), sentences, self.order, missing=-np.inf, runtime=runtime
        )
        return np.asarray(_weighted(self.order_weights, sums).sum(axis=1) + _weighted(self.derivation_weight, scores))


def log_model(counts: NGramValues) -> NGramValues:
    """Return log-probabilities of n-grams' last words given their histories, from counts in strings with boundaries.

    An n-gram that ends in a sentence start is no event: its value is 0.
    """
    ngrams = counts.ngrams
    sentence = np.repeat(np.arange(len(counts.sentences) - 1, dtype=np.int32), np.diff(counts.sentences))
    last = ngrams.offsets[1:] - 1
    event = ngrams.values[last] != BOS
    # A history is identified by its words and by its sentence, in the place of the last word.
    keys = ngrams.values.copy()
    keys[last] = sentence
    history = kernels.intern_sequences(keys, ngrams.offsets)[0]
    expected = np.where(event, counts.values, 0.0)
    totals = np.bincount(history, expected)[history]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(expected) - np.log(totals)
    return counts.with_values(np.where(event, np.where(expected > 0, logs, -np.inf), 0.0))


def add_sentence_boundaries(strings: Ragged[np.int32], order: int) -> Ragged[np.int32]:
    """Return the strings with `order - 1` sentence starts before and a sentence end after them."""
    starts = np.repeat(strings.offsets[:-1], order - 1)
    places = np.concatenate([starts, strings.offsets[1:]])
    marks = np.concatenate([np.full(len(starts), BOS, np.int32), np.full(len(strings), EOS, np.int32)])
    # At the same place, an end comes before the next string's starts.
    strings_of = np.concatenate([np.repeat(np.arange(len(strings)), order - 1), np.arange(len(strings))])
    order_of = np.lexsort((marks, strings_of, places))
    values = np.insert(strings.values, places[order_of], marks[order_of])
    return Ragged(values, strings.offsets + order * np.arange(len(strings.offsets)))


def bounded_graph(graph: Hypergraph, order: int) -> Hypergraph:
    """Return the hypergraph whose strings have `order - 1` sentence starts before and a sentence end after them.

    In a lattice, edges without tails write the starts, so that still nothing is written to the left of a node.
    """
    leaf = graph.tails[:, 0] < 0
    begins = graph.templates.offsets[graph.template_ids[~leaf]]
    lattice = bool((graph.tails[:, 1] < 0).all() and (graph.templates.values[begins] == -1).all())
    starts = [BOS] * (order - 1)
    template_ids = graph.template_ids
    added = [[-1, EOS] if lattice else [*starts, -1, EOS]]
    if lattice:
        old, numbers = np.unique(template_ids[leaf], return_inverse=True)
        added = [*([*starts, *graph.templates[int(i)].tolist()] for i in old), *added]
        template_ids = template_ids.copy()
        template_ids[leaf] = len(graph.templates) + numbers
    return replace(
        graph,
        root=graph.nodes,
        first_edge=np.append(graph.first_edge, graph.edges + 1),
        tails=np.concatenate([graph.tails, np.array([[graph.root, -1]], np.int32)]),
        template_ids=np.append(template_ids, np.int32(len(graph.templates) + len(added) - 1)),
        templates=Ragged.concatenate([graph.templates, Ragged.of(added, np.int32)]),
        spans=np.concatenate([graph.spans, np.zeros((1, 2), np.int32)]),
        scores=np.append(graph.scores, 0.0),
    )


def _weighted(weights: NDArray[np.float64] | float, logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the product, which is 0 for a weight of 0, even where the logarithm is -inf."""
    return np.multiply(
        weights, logs, where=np.broadcast_to(np.asarray(weights) != 0, logs.shape), out=np.zeros(logs.shape)
    )
