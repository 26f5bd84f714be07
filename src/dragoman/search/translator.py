"""Translating: lines in, translations, n-best lists or hypergraphs out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.core.weights import Weights
from dragoman.model.bundle import Model
from dragoman.search.batch import Batch, BoundaryFeature, Found, LocalFeature
from dragoman.search.lattice import Edges, derivation_features, hypergraph
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.nbest import nbest
from dragoman.search.options import OptionCollector, PhraseOptions

#: Sentences that are searched together, for each thread: enough to keep threads busy, few enough to stream.
_BATCH = 16


@dataclass(frozen=True)
class Phrase:
    """One step of a derivation: source words `source[0]:source[1]` became target words `target[0]:target[1]`."""

    source: tuple[int, int]
    target: tuple[int, int]
    links: tuple[tuple[int, int], ...]
    unknown: bool


@dataclass(frozen=True)
class Translation:
    """The best derivation of a sentence. Shows as its text."""

    source: str
    text: str
    score: float
    phrases: tuple[Phrase, ...]
    features: dict[str, float]

    def __str__(self) -> str:
        return self.text


class Translator:
    """Translates with a model.

    `weights` replace the model's. `limits` say how hard to search, `space` which derivations there are.
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
        threads: int = 1,
    ):
        self.model = model
        self.weights = model.weights if weights is None else weights
        self.limits = limits
        self.threads = threads
        settings = model.settings
        self._reordering_limit = settings.reordering_limit if space.reordering_limit is None else space.reordering_limit
        self._table_limit = settings.table_limit if space.table_limit is None else space.table_limit
        self._by_score = space.table_limit_by == "score"
        self._collector = OptionCollector(
            model,
            table_limit=0 if self._by_score else self._table_limit,
            drop_unknown=space.unknown_words == "drop",
        )
        self._local_features = tuple(local_features)
        self._boundary_feature = boundary_feature
        self._lm_ids = [model.lm_word_ids(name) for name in model.language_models]
        if not model.tables:
            raise UsageError("the model has no phrase table")

    def batch(self, lines: Sequence[str]) -> Batch:
        """Collect and score the options of some tokenised sentences."""
        return self.batch_of(self._collector.collect(Corpus.from_lines(lines)))

    def batch_of(self, options: PhraseOptions) -> Batch:
        """Score given options."""
        batch = self._scored(options)
        if self._by_score and self._table_limit:
            batch = self._scored(options.take(_best_of_spans(options, batch.estimates, self._table_limit)))
        return batch

    def _scored(self, options: PhraseOptions) -> Batch:
        return Batch(self.model, self.weights, options, self._lm_ids, self._local_features, self._boundary_feature)

    def translate(self, lines: Iterable[str], *, features: bool = False) -> Iterator[Translation]:
        """Translate tokenised sentences, in order, a batch at a time; an empty line gives an empty translation."""
        for part in self.in_batches(lines):
            batch = self.batch(part)
            found = self.find(batch, part)
            rows = derivation_features(batch, found.derivations, np.arange(len(part))) if features else None
            for i, line in enumerate(part):
                yield _describe(batch, found, rows, i, line)

    def in_batches(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Cut a stream of lines into batches that keep the threads busy."""
        stream = iter(lines)
        while part := list(itertools.islice(stream, _BATCH * self.threads)):
            yield part

    def nbest(self, lines: Iterable[str], k: int, *, distinct: bool = False) -> Iterator[NBest]:
        """Yield the k best hypotheses of tokenised sentences, with features and segmentations, a batch at a time."""
        for part in self.in_batches(lines):
            batch = self.batch(part)
            yield nbest(batch, self.find(batch, part, lattice=True), k, distinct=distinct, threads=self.threads)

    def hypergraphs(self, lines: Iterable[str], *, features: bool = True) -> Iterator[Hypergraph]:
        """Yield the hypergraphs of tokenised sentences, in order."""
        for part in self.in_batches(lines):
            batch = self.batch(part)
            found = self.find(batch, part, lattice=True)
            for i in range(len(part)):
                yield hypergraph(batch, found, i, Edges.of(batch, found, i), features=features)

    def search(self, line: str, *, features: bool = True) -> Hypergraph:
        """Search one tokenised sentence and return all that was kept, as a hypergraph."""
        return next(self.hypergraphs([line], features=features))

    def force(self, line: str, target: str) -> Hypergraph | None:
        """Return all derivations found of one translation of a sentence, or None where the model cannot reach it."""
        batch = self.batch([line])
        words = batch.options.vocab.encode(f"{target}\n".encode())[0]
        if bool((words == 0).any()):
            return None
        targets = Ragged(words, np.array([0, len(words)], np.int64))
        found = self._search(batch, targets=targets, lattice=True)
        return hypergraph(batch, found, 0, Edges.of(batch, found, 0)) if found.outcomes[0] == 0 else None

    def find(self, batch: Batch, lines: Sequence[str], *, lattice: bool = False) -> Found:
        """Search a batch, and refuse sentences that are too large for the search."""
        found = self._search(batch, lattice=lattice)
        for i in np.flatnonzero(found.outcomes).tolist():
            raise DataError(
                f"the search of '{_shortened(lines[i])}' ({len(lines[i].split())} words) needs more than "
                f"{self.limits.max_size:,} hypotheses and arcs",
                expected="a shorter sentence, tighter limits, or a larger max-size",
            )
        return found

    def _search(self, batch: Batch, *, targets: Ragged[np.int32] | None = None, lattice: bool) -> Found:
        return batch.search(self.limits, self._reordering_limit, targets=targets, lattice=lattice, threads=self.threads)


def _shortened(line: str) -> str:
    return line if len(line) <= 60 else f"{line[:57]}..."


def _best_of_spans(options: PhraseOptions, estimates: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """The options whose estimate is among the best `limit` of their span, in their old order."""
    order = np.lexsort((-estimates, options.end, options.begin, options.sentence))
    key = np.stack([options.sentence[order], options.begin[order], options.end[order]])
    new = np.ones(len(order), bool)
    new[1:] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    first = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    rank = np.arange(len(order)) - first
    return np.sort(order[rank < limit])


def _describe(batch: Batch, found: Found, features: FeatureRows | None, i: int, line: str) -> Translation:
    options = batch.options
    chosen = found.derivations[i] + options.offsets[i]
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
    return Translation(
        source=line,
        text=text,
        score=float(found.scores[i]),
        phrases=tuple(phrases),
        features={} if features is None else features.row(i),
    )


def _links(batch: Batch, option: int, position: int) -> tuple[tuple[int, int], ...]:
    begin = int(batch.options.begin[option])
    if batch.options.unknown[option]:
        return ((begin, position),) if len(batch.options.words[option]) else ()
    for table, row in zip(batch.model.tables.values(), batch.options.rows[option].tolist(), strict=True):
        if row >= 0 and table.alignments is not None:
            links = table.alignments[row].tolist()
            return tuple((begin + (link >> 8), position + (link & 255)) for link in links)
    return ()
