"""Translating with grammars: rules are collected, scored and searched, a batch of sentences at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.display import shorten
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.forest.kbest import nbest
from dragoman.search.batch import BatchResult, encode_targets, refuse_too_large
from dragoman.search.chart.batch import ChartBatch, ChartOutcome, Graphs, check_scores
from dragoman.search.chart.derivation_tree import describe
from dragoman.search.chart.graph import SentenceGraph, edge_features, features_with_rules, hypergraph
from dragoman.search.chart.rules import RuleCollector
from dragoman.search.translation import Translation
from dragoman.search.translator import Translator


class ChartTranslator(Translator):
    """Translates with a hierarchical model; for the arguments see `Translator.of`."""

    def _prepare(self) -> None:
        model = self.model
        if self.climbing is not None:
            raise UsageError("hill-climbing changes phrases and their order: a hierarchical model has neither")
        if self.space.reordering_limit is not None:
            raise UsageError("a hierarchical model has no reordering limit; its spans are limited by the model")
        if self.limits.algorithm == "stack":
            raise UsageError("there is no stack decoding with a hierarchical model; expected cube pruning")
        if model.boundary_feature is not None:
            raise UsageError(
                f"the feature '{model.boundary_feature.prefix}' is of neighbours, which no chart can score; "
                "a hierarchical model goes without"
            )
        self._collector = RuleCollector(
            model,
            span_limit=model.settings.span_limit,
            table_limit=0 if self._by_score else self._table_limit,
            drop_unknown=self.space.unknown_words == "drop",
        )

    def batch(self, lines: Sequence[str]) -> ChartBatch:
        """Collect and score the rules for some tokenised sentences, which may have markup if that is on."""
        return self._all_rules(lines).limited(runtime=self.runtime)

    def _all_rules(self, lines: Sequence[str]) -> ChartBatch:
        """Return a batch with rules beyond the table limit, which a search leaves out, where that is by score."""
        source, given, trees = self._read(lines)
        rules = self._collector.collect(source, self.weights, given, runtime=self.runtime)
        limit = self._table_limit if self._by_score else 0
        return ChartBatch(self.model, self.weights, rules, self._lm_ids, trees, rule_limit=limit)

    def search_batch(
        self, part: Sequence[str], *, forests: bool = False, targets: Sequence[str] | None = None
    ) -> ChartResult:
        """Search a batch of tokenised sentences with dense and sparse features; global features are ignored."""
        batch = self._all_rules(part)
        check_scores(batch)
        wanted = None if targets is None else encode_targets(batch.rules.vocab, targets)
        found = batch.search(self.limits, targets=wanted, forests=forests, runtime=self.runtime)
        if targets is None:
            refuse_too_large(found, part, self.limits.max_size, "items and edges")
        for i, outcome in enumerate(found.outcomes.tolist()):
            if outcome and targets is None:
                raise DataError(
                    f"the model has no derivation of '{shorten(part[i])}' ({len(part[i].split())} words): its rules "
                    f"cover at most {self.model.settings.span_limit} words, and it has no glue to join them",
                    expected="glue = true in its settings",
                )
        return ChartResult(batch, found, runtime=self.runtime)


class ChartResult(BatchResult[ChartBatch, ChartOutcome]):
    """Search results of a batch; `global_values` are values of global features, which a search cannot score."""

    def translations(self, *, features: bool = False) -> list[Translation]:
        """Describe the best derivation of each sentence."""
        graphs = [SentenceGraph.of(self.batch, self.found.best, i) for i in range(len(self))]
        rows: list[dict[str, float]] = [{}] * len(self)
        of_edges: list[FeatureRows | None] = [None] * len(self)
        if features:
            offsets = np.concatenate([[0], np.cumsum([len(graph.rules) for graph in graphs])]).astype(np.int64)
            edges = self._features(graphs, [np.arange(len(graph.rules)) for graph in graphs])
            every = edges.sum_over(Ragged(np.arange(offsets[-1], dtype=np.int32), offsets))
            every = every if self._global_values is None else FeatureRows.join([every, self._global_values])
            rows = [every.row(i) for i in range(len(self))]
            of_edges = [edges.take(part) for part in np.split(np.arange(len(edges)), offsets[1:-1])]
        sources, scores = self.batch.rules.source.lines(), self.found.scores.tolist()
        return [
            describe(self.batch, graph, sources[i], scores[i], rows[i], of_edges[i]) for i, graph in enumerate(graphs)
        ]

    def nbest(self, k: int, *, distinct: bool = False) -> NBest:
        """Return the k best hypotheses of each sentence; only their edges' features are computed."""
        return self._nbest(k, distinct=distinct)

    def pair_lists(self, k: int) -> NBest:
        """Return the k best hypotheses with the rules of mixed grammars as features in place of their scores."""
        return self._nbest(k, with_rules=True)

    def _nbest(self, k: int, *, distinct: bool = False, with_rules: bool = False) -> NBest:
        graphs = [SentenceGraph.of(self.batch, self._every, i) for i in range(len(self))]
        plain = [hypergraph(self.batch, graph, features=False) for graph in graphs]

        def features(used: Sequence[NDArray[np.integer]]) -> FeatureRows:
            return self._features(graphs, used, with_rules=with_rules)

        return nbest(plain, k, distinct=distinct, features=features, runtime=self._runtime)

    def hypergraph(self, i: int, *, features: bool = True) -> Hypergraph:
        """Return the hypergraph of sentence i."""
        return hypergraph(self.batch, SentenceGraph.of(self.batch, self._every, i), features=features)

    def edge_features(self, i: int, edges: NDArray[np.integer]) -> FeatureRows:
        """Return the features of some edges of sentence i's hypergraph."""
        return self._features([SentenceGraph.of(self.batch, self._every, i)], [edges])

    def derivation(self, i: int, edges: NDArray[np.integer], score: float) -> Translation:
        """Describe a derivation of sentence i's hypergraph, with features."""
        graph = SentenceGraph.of(self.batch, self._every, i).only(edges)
        every = np.arange(len(edges), dtype=np.int32)
        of_edges = self._features([graph], [every])
        features = of_edges.sum_over(Ragged(every, np.array([0, len(edges)]))).row(0)
        return describe(self.batch, graph, self.batch.rules.source.line(i), score, features, of_edges)

    @property
    def _every(self) -> Graphs:
        if self.found.every is None:
            raise UsageError("the search kept no hypergraphs; search with forests=True")
        return self.found.every

    def _features(
        self,
        graphs: Sequence[SentenceGraph],
        edges: Sequence[NDArray[np.integer]],
        *,
        with_rules: bool = False,
    ) -> FeatureRows:
        pairs = list(zip(graphs, edges, strict=True))
        return (features_with_rules if with_rules else edge_features)(
            self.batch,
            np.concatenate([graph.rules[used] for graph, used in pairs]),
            np.concatenate([graph.matches[used] for graph, used in pairs]),
            np.concatenate([graph.lm_scores[used] for graph, used in pairs]),
            np.concatenate([graph.parts[used] for graph, used in pairs]),
        )
