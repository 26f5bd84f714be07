"""A batch of sentences in a chart search: rules and weights in, derivations and hypergraphs out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.features import HoleFeature, PairFeature, SpanFeature, SpansInUse
from dragoman.model.bundle import Model
from dragoman.search.batch import (
    LARGEST_SCORE,
    check_weights,
    kernel_limits,
    lm_words,
    pair_rows,
    refuse_other_mixtures,
    score_error,
    span_rows,
)
from dragoman.search.chart.holes import by_class, classes_of_rules
from dragoman.search.chart.rules import ChartRules
from dragoman.search.limits import SearchLimits
from dragoman.text.source_trees import SourceTree

#: The default number of candidates of a span.
POP_LIMIT = 200


@dataclass(frozen=True, eq=False)
class Graphs:
    """Derivations of all sentences of a batch: nodes and edges of each, one after the other, the goal last.

    An edge uses a rule, or glue: `FIRST` begins with its tail, `GLUE` joins two, `GOAL` ends, `NOTHING` is an empty
    sentence. `matches` are numbered in their sentence.
    """

    node_offsets: NDArray[np.int64]
    edge_offsets: NDArray[np.int64]
    spans: NDArray[np.int32]
    first_edges: NDArray[np.int64]
    tails: NDArray[np.int32]
    rules: NDArray[np.int32]
    matches: NDArray[np.int32]
    scores: NDArray[np.float64]
    lm_scores: NDArray[np.float64]


#: In place of a rule.
FIRST, GLUE, GOAL, NOTHING = -1, -2, -3, -4


@dataclass(frozen=True, eq=False)
class ChartOutcome:
    """Search results: the outcome of each sentence (0 found, 1 no derivation, 2 too large), and derivations."""

    outcomes: NDArray[np.uint8]
    scores: NDArray[np.float64]
    pops: NDArray[np.int64]
    best: Graphs
    every: Graphs | None


class ChartBatch:
    """The rules of a batch of sentences, scored with weights.

    `trees` are the source trees, if a feature needs them. A search tries the best `rule_limit` rules of each source
    side, or all if it is 0.
    """

    def __init__(
        self,
        model: Model,
        weights: Weights,
        rules: ChartRules,
        lm_ids: Sequence[NDArray[np.int32]],
        trees: Sequence[SourceTree] = (),
        *,
        rule_limit: int = 0,
    ):
        self.model = model
        self.weights = weights
        self.rules = rules
        self._lm_ids = lm_ids
        self._trees = trees
        self._rule_limit = rule_limit
        sentence = np.repeat(np.arange(len(rules.match_offsets) - 1), np.diff(rules.match_offsets))
        spans = SpansInUse(sentence, rules.matches[:, 1], rules.matches[:, 2], trees)
        self.rule_rows = pair_rows(model.features_of(PairFeature), rules.pairs)
        self.span_rows = span_rows(model.features_of(SpanFeature), rules.source, spans)
        self.hole_rows = [feature(rules) for feature in model.features_of(HoleFeature)]

    def reweighted(self, weights: Weights) -> ChartBatch:
        """Return the same rules scored with other weights, with the same interpolation weights."""
        refuse_other_mixtures(self.model, self.weights, weights)
        return ChartBatch(self.model, weights, self.limited().rules, self._lm_ids, self._trees)

    def limited(self, *, runtime: Runtime = Runtime()) -> ChartBatch:
        """Return the batch with no other rules than those that a search tries."""
        if self._rule_limit == 0:
            return self
        best = self.rules.take(self._best_rules(self._rule_limit, runtime=runtime))
        return ChartBatch(self.model, self.weights, best, self._lm_ids, self._trees)

    @cached_property
    def _prefix_rows(self) -> list[FeatureRows | None]:
        """Of each feature of spans, if it looks at glue, a row for each running word: that of the span up to it."""
        lengths = self.rules.source.sentences.lengths
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        ends = (np.arange(len(sentence)) - self.rules.source.sentences.offsets[sentence] + 1).astype(np.int32)
        spans = SpansInUse(sentence, np.zeros_like(ends), ends, self._trees)
        features = self.model.features_of(SpanFeature)
        return [span_rows([one], self.rules.source, spans)[0] if one.on_glue else None for one in features]

    def rows_of_places(
        self, rules: NDArray[np.int32], matches: NDArray[np.int64], parts: NDArray[np.int64]
    ) -> Iterator[tuple[FeatureRows, NDArray[np.int64]]]:
        """Yield the rows of each feature of spans or holes, and the number of the row of each edge, -1 for none.

        Edges are given by their rules, matches, and the parts that they join (see `joined_parts`).
        """
        last, size = parts.T
        for rows, prefixes in zip(self.span_rows, self._prefix_rows, strict=True):
            if prefixes is None:
                yield rows, matches
            else:
                yield FeatureRows.concatenate([rows, prefixes]), np.where(size > 0, len(rows) + last, matches)
        for holes in self.hole_rows:
            numbers = holes.numbers(rules, matches)
            if holes.part_rows is not None:
                joined = holes.part_rows[np.clip(size, 1, len(holes.part_rows)) - 1]
                numbers = np.where(size > 0, joined, numbers)
            yield holes.rows, numbers

    @cached_property
    def _part_scores(self) -> NDArray[np.float64]:
        """The weighted sums of features of glue: a row for each last running word, a column for each number of words.

        No rows if no feature looks at glue.
        """
        prefixes = [rows for rows in self._prefix_rows if rows is not None]
        joined = [(holes.rows, holes.part_rows) for holes in self.hole_rows if holes.part_rows is not None]
        if not (prefixes or joined):
            return np.empty((0, 1))
        matches = self.rules.matches
        longest = int((matches[:, 2] - matches[:, 1]).max(initial=1))
        scores = np.zeros((len(self.rules.source.sentences.values), longest))
        for rows in prefixes:
            scores += rows.dot(self.weights)[:, None]
        for rows, numbers in joined:
            scores += rows.dot(self.weights)[numbers[np.minimum(np.arange(longest), len(numbers) - 1)]]
        return scores

    @cached_property
    def local(self) -> NDArray[np.float64]:
        """The weighted sum of each rule's own features."""
        # Not the matrix product: its threads would spin beside ours, and its sums depend on their number.
        scores: NDArray[np.float64] = np.einsum(
            "ij,j->i", self.rules.dense, self.weights.vector(self.model.dense_features)
        )
        for rows in self.rule_rows:
            scores = scores + rows.dot(self.weights)
        return scores

    @cached_property
    def arrays(self) -> kernels.ChartBatch:
        """The batch as kernels take it."""
        rules = self.rules
        rule_classes, classes = classes_of_rules(self.hole_rows, len(rules))
        spans = np.empty((0, 1))
        if self.span_rows or self.hole_rows:
            spans = np.zeros((len(rules.matches), len(classes)))
            for rows in self.span_rows:
                spans += rows.dot(self.weights)[:, None]
            for holes, of_holes in zip(self.hole_rows, classes.T, strict=True):
                spans += by_class(holes, self.weights)[:, of_holes]
        models = self.model.language_models
        left_extensions = [model.left_extensions for model in models.values()]
        return kernels.ChartBatch(
            lengths=rules.source.sentences.lengths.astype(np.int32),
            match_offsets=rules.match_offsets,
            matches=np.ascontiguousarray(rules.matches),
            match_scores=spans,
            first_rule=rules.first_rule,
            local=self.local,
            words=rules.words.for_kernels(),
            lm_words=lm_words(self.model, rules.vocab, rules.words.values, self._lm_ids),
            language_models=[model.automaton for model in models.values()],
            lm_weights=self.weights.vector([*models]),
            extended=[extended for extended, _ in left_extensions],
            closed=np.array([closed for _, closed in left_extensions], np.uint8),
            glue_weight=self.weights.get("glue", 0.0),
            part_scores=self._part_scores,
            glue=self.model.settings.glue,
            rule_classes=rule_classes,
            rule_limit=self._rule_limit,
        )

    def estimates(self, *, runtime: Runtime = Runtime()) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the score of each rule plus the language models' score of its words, starting anew after every hole.

        And the rules of each source side, best first.
        """
        return kernels.chart_estimates(self.arrays, runtime.threads)

    def _best_rules(self, limit: int, *, runtime: Runtime = Runtime()) -> NDArray[np.int32]:
        """Return the rules whose estimate is among the best `limit` of their source side, ascending."""
        _, order = self.estimates(runtime=runtime)
        first = self.rules.first_rule
        rank = np.arange(len(order)) - np.repeat(first[:-1], np.diff(first))
        return np.sort(order[rank < limit])

    def search(
        self,
        limits: SearchLimits,
        *,
        targets: Ragged[np.int32] | None = None,
        forests: bool = False,
        runtime: Runtime = Runtime(),
    ) -> ChartOutcome:
        """Search every sentence; if `targets` are given, find all derivations of these translations and no others."""
        found = kernels.search_charts(
            self.arrays,
            targets=None if targets is None else targets.for_kernels(),
            limits=kernel_limits(limits, POP_LIMIT, forced=targets is not None, keep_all=forests),
            threads=runtime.threads,
        )
        return ChartOutcome(
            outcomes=found["outcomes"],
            scores=found["best_scores"],
            pops=found["pops"],
            best=self._graphs(found, "best."),
            every=self._graphs(found, "all.") if forests else None,
        )

    def _graphs(self, found: Mapping[str, NDArray[Any]], prefix: str) -> Graphs:
        arrays = {name.removeprefix(prefix): array for name, array in found.items() if name.startswith(prefix)}
        # The kernel has no rows of no columns, which are those of a model without language models.
        arrays["lm_scores"] = arrays["lm_scores"].reshape(len(arrays["rules"]), len(self.model.language_models))
        return Graphs(**arrays)


def check_scores(batch: ChartBatch, first_number: int | None = None) -> None:
    """Refuse a batch whose scores are not finite, and name the feature that is to blame; O(rules and matches).

    `first_number` is the number of sentences before the batch, if known.
    """
    # Logarithms of language models are of a usual size, or the model would not have been opened: weights say enough.
    check_weights(batch.weights, ["glue", *batch.model.language_models])
    with np.errstate(over="ignore", invalid="ignore"):  # which is what we are looking for
        local, spans = batch.local, batch.arrays.match_scores
    for rule in np.flatnonzero(~(np.abs(local) < LARGEST_SCORE)).tolist():
        matches = np.flatnonzero(batch.rules.matches[:, 0] == batch.rules.side[rule])
        raise _error(batch, int(matches[0]), rule, first_number)
    for match, rule_class in np.argwhere(~(np.abs(spans) < LARGEST_SCORE)).tolist():
        rule = int(np.argmax(batch.arrays.rule_classes == rule_class))
        raise _error(batch, match, rule, first_number, whatever=True)


def _error(batch: ChartBatch, match: int, rule: int, first_number: int | None, *, whatever: bool = False) -> DataError:
    """Return the error for a rule on a match, or, with `whatever`, for all rules of its class."""
    rules = batch.rules
    sentence = int(np.searchsorted(rules.match_offsets, match, side="right")) - 1
    words = rules.source.sentences[sentence][slice(*rules.matches[match, 1:3].tolist())]
    place = "" if first_number is None else f"sentence {first_number + sentence + 1}: "
    what = f"{place}a rule on '{rules.source.vocab.text(words)}'"
    found: dict[str, float] = {}
    if whatever:
        for rows in batch.span_rows:
            found |= rows.row(match)
        for holes in batch.hole_rows:
            found |= holes.rows.row(int(holes.numbers(np.array([rule]), np.array([match]))[0]))
    else:
        symbols = [f"X{-symbol}" if symbol < 0 else rules.vocab[symbol] for symbol in rules.words[rule].tolist()]
        what += f" → '{' '.join(symbols)}'"
        found |= zip(batch.model.dense_features, rules.dense[rule].tolist(), strict=True)
        for rows in batch.rule_rows:
            found |= rows.row(rule)
    return score_error(what, found, batch.weights)
