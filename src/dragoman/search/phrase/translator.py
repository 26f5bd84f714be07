"""Translating with phrase tables: options are collected, scored and searched, a batch of sentences at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.forest.nbest import nbest
from dragoman.model.bundle import Model
from dragoman.search.global_feature import GlobalFeature
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.markup import Given, parse_markup
from dragoman.search.phrase.batch import BoundaryFeature, Found, LocalFeature, PhraseBatch
from dragoman.search.phrase.finite import check_scores
from dragoman.search.phrase.greedy import greedy_search
from dragoman.search.phrase.lattice import Edges, derivation_features, features_with_pairs, hypergraph
from dragoman.search.phrase.options import OptionCollector, PhraseOptions
from dragoman.search.searched import SearchedBatch, refuse_too_large
from dragoman.search.spans import Spans, features_of_spans
from dragoman.search.translation import Phrase, Translation
from dragoman.search.translator import Translator


class PhraseTranslator(Translator):
    """Translates with a phrase-based model.

    `local_features` and `boundary_feature` come beside those of the model, which can have one boundary feature; for
    the other arguments see `Translator.of`.
    """

    def __init__(
        self,
        model: Model,
        weights: Weights | None = None,
        *,
        limits: SearchLimits = SearchLimits(),
        space: SpaceLimits = SpaceLimits(),
        local_features: Sequence[LocalFeature] = (),
        boundary_feature: BoundaryFeature | None = None,
        climbing: HillClimbing | None = None,
        markup: bool = False,
        runtime: Runtime = Runtime(),
    ):
        super().__init__(model, weights, limits=limits, space=space, markup=markup, runtime=runtime, climbing=climbing)
        settings = model.settings
        limit = space.reordering_limit
        self.reordering_limit = settings.reordering_limit if limit is None else limit
        self._table_limit = settings.table_limit if space.table_limit is None else space.table_limit
        self._by_score = space.table_limit_by == "score"
        self._local_features: tuple[LocalFeature, ...] = (*model.local_features, *local_features)
        self._boundary_feature: BoundaryFeature | None = boundary_feature or model.boundary_feature
        if not model.tables:
            raise UsageError("the model has no phrase table")
        if limits.algorithm == "incremental":
            raise UsageError("incremental search is for hierarchical models; expected cube, stack or exhaustive")
        model.check_parts()
        if boundary_feature is not None and model.boundary_feature is not None:
            raise UsageError(f"the model has the boundary feature '{model.boundary_feature.name}' already")
        for feature in (*self._local_features, boundary_feature):
            if isinstance(feature, GlobalFeature):
                raise UsageError(
                    f"{feature.name} is a global feature, which no search by dynamic programming can score; "
                    "give it to a Sampler"
                )
        self._collector = OptionCollector(
            model,
            table_limit=0 if self._by_score else self._table_limit,
            drop_unknown=space.unknown_words == "drop",
        )
        self._lm_ids = [model.lm_word_ids(name) for name in model.language_models]

    def batch(self, lines: Sequence[str]) -> PhraseBatch:
        """Collect and score the options of some tokenised sentences, which may have markup if that is on."""
        given: list[list[Given]] = []
        of_trees = features_of_spans(self.model, lines, _spans)
        if self.markup:
            parsed = [parse_markup(line) for line in lines]
            lines, given = [words for words, _ in parsed], [row for _, row in parsed]
        options = self._collector.collect(Corpus.from_lines(lines), self.weights, given)
        batch = self._scored(options, of_trees)
        if self._by_score and self._table_limit:
            kept = options.take(_best_of_spans(options, batch.estimates, self._table_limit))
            batch = self._scored(kept, of_trees)
        return batch

    def _scored(self, options: PhraseOptions, of_trees: Sequence[LocalFeature]) -> PhraseBatch:
        features = (*self._local_features, *of_trees)
        return PhraseBatch(self.model, self.weights, options, self._lm_ids, features, self._boundary_feature)

    def search_together(
        self, part: Sequence[str], *, forests: bool = False, targets: Sequence[str] | None = None
    ) -> PhraseSearched:
        """Search a batch of tokenised sentences, by dense and sparse features: global ones count for nothing."""
        batch = self.batch(part)
        check_scores(batch)
        wanted = None if targets is None else _encoded(batch, targets)
        found = self._search(batch, targets=wanted, lattice=forests)
        if targets is None:
            refuse_too_large(found, part, self.limits.max_size, "hypotheses and arcs")
        return PhraseSearched(batch, found, runtime=self.runtime)

    def _search(self, batch: PhraseBatch, *, targets: Ragged[np.int32] | None = None, lattice: bool) -> Found:
        if self.climbing is None:
            return batch.search(
                self.limits, self.reordering_limit, targets=targets, lattice=lattice, runtime=self.runtime
            )
        if lattice or targets is not None:
            raise UsageError("hill-climbing finds one derivation: no n-best lists, hypergraphs or forced translations")
        return greedy_search(
            batch, self.climbing, self.limits, reordering_limit=self.reordering_limit, runtime=self.runtime
        )


class PhraseSearched(SearchedBatch[PhraseBatch, Found]):
    """A batch of sentences after the search; `global_values` are of features that a search cannot see."""

    def translations(self, *, features: bool = False) -> list[Translation]:
        """Describe the best derivation of each sentence."""
        rows = None
        if features:
            rows = derivation_features(self.batch, self.found.derivations, np.arange(len(self)))
            rows = rows if self._global_values is None else FeatureRows.join([rows, self._global_values])
        first, scores = self.batch.options.offsets, self.found.scores.tolist()
        return [
            _describe(
                self.batch, i, self.found.derivations[i] + first[i], scores[i], {} if rows is None else rows.row(i)
            )
            for i in range(len(self))
        ]

    def nbest(self, k: int, *, distinct: bool = False) -> NBest:
        """Return the k best hypotheses of each sentence; only their edges' features are computed."""
        return self._nbest(k, Edges.features, distinct=distinct)

    def pair_lists(self, k: int) -> NBest:
        """Return the k best hypotheses with the pairs of mixed tables as features in place of their scores."""
        return self._nbest(k, features_with_pairs)

    def _nbest(
        self, k: int, features_of: Callable[[Edges, PhraseBatch], FeatureRows], *, distinct: bool = False
    ) -> NBest:
        lattices = [Edges.of(self.batch, self.found, i) for i in range(len(self))]
        graphs = [hypergraph(self.batch, self.found, i, edges, features=False) for i, edges in enumerate(lattices)]

        def features(used: Sequence[NDArray[np.integer]]) -> FeatureRows:
            parts = [edges.take(rows) for edges, rows in zip(lattices, used, strict=True)]
            return features_of(Edges.concatenate(parts), self.batch)

        return nbest(graphs, k, distinct=distinct, features=features, runtime=self._runtime)

    def hypergraph(self, i: int, *, features: bool = True) -> Hypergraph:
        """Return all that the search kept of sentence i."""
        edges = Edges.of(self.batch, self.found, i)
        return hypergraph(self.batch, self.found, i, edges, features=features)

    def edge_features(self, i: int, edges: NDArray[np.integer]) -> FeatureRows:
        """Return the features of some edges of sentence i's hypergraph."""
        return Edges.of(self.batch, self.found, i).take(edges).features(self.batch)

    def derivation(self, i: int, edges: NDArray[np.integer], score: float) -> Translation:
        """Describe a derivation of sentence i's hypergraph; its edges lead from the sentence's end to its start."""
        used = Edges.of(self.batch, self.found, i).take(edges[::-1])
        rows = used.features(self.batch).sum_over(
            Ragged(np.arange(len(edges), dtype=np.int32), np.array([0, len(edges)]))
        )
        return _describe(self.batch, i, used.option[used.option >= 0], score, rows.row(0))


def _encoded(batch: PhraseBatch, targets: Sequence[str]) -> Ragged[np.int32]:
    return Ragged(*batch.options.vocab.encode("".join(f"{target}\n" for target in targets).encode()))


def _spans(options: PhraseOptions) -> Spans:
    return options.sentence, options.begin, options.end


def _best_of_spans(options: PhraseOptions, estimates: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """The options whose estimate is among the best `limit` of their span, in their old order."""
    order = np.lexsort((-estimates, options.end, options.begin, options.sentence))
    key = np.stack([options.sentence[order], options.begin[order], options.end[order]])
    new = np.ones(len(order), bool)
    new[1:] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    first = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    rank = np.arange(len(order)) - first
    return np.sort(order[rank < limit])


def _describe(
    batch: PhraseBatch, i: int, chosen: NDArray[np.integer], score: float, features: dict[str, float]
) -> Translation:
    """Describe the derivation of sentence i that uses some options of the batch, in the order of the target."""
    options = batch.options
    phrases, position, words = [], 0, []
    for option in chosen.tolist():
        target = options.words[option]
        words.append(target)
        phrases.append(
            Phrase(
                source=(int(options.begin[option]), int(options.end[option])),
                target=(position, position + len(target)),
                links=_links(batch, option, position),
                unknown=bool(options.unknown[option]),
            )
        )
        position += len(target)
    text = options.vocab.text(np.concatenate(words)) if words else ""
    return Translation(options.source.line(i), text, score, tuple(phrases), features)


def _links(batch: PhraseBatch, option: int, position: int) -> tuple[tuple[int, int], ...]:
    begin = int(batch.options.begin[option])
    if batch.options.unknown[option]:
        return ((begin, position),) if len(batch.options.words[option]) else ()
    for table, row in zip(batch.model.tables.values(), batch.options.rows[option].tolist(), strict=True):
        if row >= 0 and table.alignments is not None:
            links = table.alignments[row].tolist()
            return tuple((begin + (link >> 8), position + (link & 255)) for link in links)
    return ()
