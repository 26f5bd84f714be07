"""Translating with phrase tables: options are collected, scored and searched, a batch of sentences at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.features import PairFeature, SpanFeature
from dragoman.forest.kbest import nbest
from dragoman.search.batch import BatchResult, encode_targets, refuse_too_large
from dragoman.search.phrase.batch import PhraseBatch, PhraseOutcome, check_scores, reordering_weights
from dragoman.search.phrase.greedy import greedy_search
from dragoman.search.phrase.lattice import Edges, features_with_pairs, hypergraph, option_features
from dragoman.search.phrase.translation_options import OptionCollector, PhraseOptions
from dragoman.search.translation import Phrase, PhraseList, Translation
from dragoman.search.translator import Translator


class PhraseTranslator(Translator):
    """Translates with a phrase-based model; for the arguments see `Translator.of`."""

    def _prepare(self) -> None:
        if not self.model.tables:
            raise UsageError("the model has no phrase table")
        if self.limits.algorithm == "incremental":
            raise UsageError("incremental search is for hierarchical models; expected cube, stack or exhaustive")
        limit = self.space.reordering_limit
        self.reordering_limit = self.model.settings.reordering_limit if limit is None else limit
        self._collector = OptionCollector(
            self.model,
            table_limit=0 if self._by_score else self._table_limit,
            drop_unknown=self.space.unknown_words == "drop",
        )
        # Features in Python, scores of mixtures and copied words are known only when options are collected.
        self._scores_late = (
            self._collector.are_mixed
            or self.model.copy_feature is not None
            or any(map(self.model.features_of, (PairFeature, SpanFeature)))
        )
        self._rankings: list[tuple[Weights, kernels.OptionRanking | None]] = [(self.weights, None)]

    def batch(self, lines: Sequence[str]) -> PhraseBatch:
        """Collect and score the options of some tokenised sentences, which may have markup if that is on."""
        source, given, trees = self._read(lines)
        limit = self._table_limit if self._by_score else 0
        ranking = self._ranking(limit) if limit and not any(given) and not self._scores_late else None
        threads = self.runtime.threads
        options = self._collector.collect(source, self.weights, given, ranking=ranking, threads=threads)
        batch = PhraseBatch(self.model, self.weights, options, self._lm_ids, trees, threads=threads)
        if limit and ranking is None:
            best = kernels.best_of_spans(options.offsets, options.begin, options.end, batch.estimates, limit)
            batch = PhraseBatch(self.model, self.weights, options.take(best), self._lm_ids, trees, threads=threads)
        return batch

    def _ranking(self, limit: int) -> kernels.OptionRanking:
        """Return the ranking of options by score, which translators with the same weights share."""
        ((weights, ranking),) = self._rankings
        if weights is not self.weights or ranking is None:
            ranking = kernels.OptionRanking(
                limit=limit,
                weights=self.weights.vector(self.model.dense_features),
                language_models=[lm.automaton for lm in self.model.language_models.values()],
                lm_ids=self._lm_ids,
                lm_weights=self.weights.vector(list(self.model.language_models)),
                reordering_weights=reordering_weights(self.model, self.weights),
            )
            self._rankings[:] = [(self.weights, ranking)]
        return ranking

    def search_batch(
        self, part: Sequence[str], *, forests: bool = False, targets: Sequence[str] | None = None
    ) -> PhraseResult:
        """Search a batch of tokenised sentences with dense and sparse features; global features are ignored."""
        batch = self.batch(part)
        if self.climbing is not None:
            check_scores(batch)
        wanted = None if targets is None else encode_targets(batch.options.vocab, targets)
        found = self._search(batch, targets=wanted, lattice=forests)
        if targets is None:
            refuse_too_large(found, part, self.limits.max_size, "hypotheses and arcs")
        return PhraseResult(batch, found, runtime=self.runtime)

    def _search(self, batch: PhraseBatch, *, targets: Ragged[np.int32] | None = None, lattice: bool) -> PhraseOutcome:
        if self.climbing is None:
            return batch.search(
                self.limits, self.reordering_limit, targets=targets, lattice=lattice, runtime=self.runtime
            )
        if lattice or targets is not None:
            raise UsageError("hill-climbing finds one derivation: no n-best lists, hypergraphs or forced translations")
        return greedy_search(
            batch, self.climbing, self.limits, reordering_limit=self.reordering_limit, runtime=self.runtime
        )


class PhraseResult(BatchResult[PhraseBatch, PhraseOutcome]):
    """Search results of a batch; `global_values` are values of global features, which a search cannot score."""

    def translations(self, *, features: bool = False) -> list[Translation]:
        """Describe the best derivation of each sentence."""
        rows = None
        if features:
            rows = option_features(self.batch, self.found.derivations, np.arange(len(self)))
            rows = rows if self._global_values is None else FeatureRows.join([rows, self._global_values])
        found, options = self.found.derivations, self.batch.options
        chosen = Ragged(found.values + np.repeat(options.offsets[:-1], np.diff(found.offsets)), found.offsets)
        return _describe(options, options.source, chosen, self.found.scores.tolist(), rows)

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
        """Return the hypergraph of sentence i."""
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
        chosen, options = used.option[used.option >= 0], self.batch.options
        source = options.source.take(np.array([i]))
        return _describe(options, source, Ragged(chosen, np.array([0, len(chosen)])), [score], rows)[0]


def _describe(
    options: PhraseOptions,
    source: Corpus,
    chosen: Ragged[Any],
    scores: Sequence[float],
    features: FeatureRows | None,
) -> list[Translation]:
    """Describe a derivation of each source sentence, given the options that it uses, in target order."""
    used = chosen.values
    words = options.words.take(used)
    texts = Corpus(options.vocab, Ragged(words.values, words.offsets[chosen.offsets])).lines()
    steps = _Steps(
        bounds=chosen.offsets,
        begin=options.begin[used],
        end=options.end[used],
        target=words.offsets,
        links=options.links_of(used),
        unknown=options.unknown[used],
        copied=options.copied[used],
    )
    return [
        Translation(line, text, score, PhraseList(partial(steps.of, i)), {} if features is None else features.row(i))
        for i, (line, text, score) in enumerate(zip(source.lines(), texts, scores, strict=True))
    ]


@dataclass(frozen=True, eq=False)
class _Steps:
    """The options that derivations use, in target order: those of derivation i are `bounds[i]:bounds[i + 1]`.

    `target` is where the words of each begin among those of all.
    """

    bounds: NDArray[np.int64]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    target: NDArray[np.int64]
    links: Ragged[np.uint16]
    unknown: NDArray[np.bool_]
    copied: NDArray[np.int8]

    def of(self, i: int) -> tuple[Phrase, ...]:
        """Describe the steps of a derivation."""
        first, last = int(self.bounds[i]), int(self.bounds[i + 1])
        words = (self.target[first : last + 1] - self.target[first]).tolist()
        phrases = []
        for step, at, end in zip(range(first, last), words, words[1:], strict=False):
            begin = int(self.begin[step])
            if self.unknown[step] or self.copied[step] >= 0:
                links = ((begin, at),)[: end - at]  # a word that passes through is one word, or none if it is dropped
            else:
                links = tuple((begin + (link >> 8), at + (link & 255)) for link in self.links[step].tolist())
            phrases.append(Phrase((begin, int(self.end[step])), (at, end), links, bool(self.unknown[step])))
        return tuple(phrases)
