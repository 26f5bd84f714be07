"""Translation options: for a batch of sentences, every phrase pair that fits on a span, with its features."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.feature_rows import Weights
from dragoman.core.ragged import Ragged
from dragoman.model.bundle import Model
from dragoman.model.mixture import of_orientations
from dragoman.model.phrase_table import PhraseTable
from dragoman.search.batch import UNKNOWN_WORD, copied_words, pass_through
from dragoman.search.fixed_translations import FixedTranslation
from dragoman.search.mixed_scores import mixed_log_scores


@dataclass(frozen=True, eq=False)
class RankedScores:
    """Scores of options that were ranked with some weights: as kernels give them for all features."""

    weights: Weights
    local: NDArray[np.float64]
    reorder_from: NDArray[np.float64]
    reorder_to: NDArray[np.float64]
    exit_class: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PhraseOptions:
    """The translation options of a batch of sentences, grouped by sentence, then by begin and length of the span.

    `rows` has a column for each phrase table: the row of the pair there, -1 where the table lacks it. Words are ids of
    `vocab`, which holds the model's target words and the batch's unknown source words. `features` makes `dense` and
    `reordering` when somebody asks for them; a search for the best derivation needs only the scores of a ranking,
    `ranked`, if there was one. `copied` is the class of options that a feature generated, or -1. `source_ids` are the
    running words of `source` as ids of the model, and `tables` are its tables, for features that look at words and
    links.
    """

    source: Corpus
    vocab: Vocab
    offsets: NDArray[np.int64]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    words: Ragged[np.int32]
    rows: NDArray[np.int64]
    unknown: NDArray[np.bool_]
    copied: NDArray[np.int8]
    features: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64]]]
    source_ids: NDArray[np.int32]
    tables: tuple[PhraseTable, ...]
    ranked: RankedScores | None = None

    def __len__(self) -> int:
        return len(self.begin)

    @cached_property
    def _features(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.features()

    @property
    def dense(self) -> NDArray[np.float64]:
        """A column for each feature of the model; features that depend on context are 0."""
        return self._features[0]

    @property
    def reordering(self) -> NDArray[np.float64]:
        """Six logarithms an option, for each reordering model."""
        return self._features[1]

    @cached_property
    def sentence(self) -> NDArray[np.int64]:
        """The sentence of each option."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @cached_property
    def source_words(self) -> Ragged[np.int32]:
        """The source words of each option, as ids of the model."""
        lengths = (self.end - self.begin).astype(np.int64)
        offsets = np.zeros(len(self) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        starts = self.source.sentences.offsets[self.sentence] + self.begin
        return Ragged(self.source_ids[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)], offsets)

    @cached_property
    def linked(self) -> NDArray[np.bool_]:
        """True where a table has the word links of an option."""
        return self._linking_table < len(self.tables)

    @cached_property
    def links(self) -> Ragged[np.uint16]:
        """The word links inside each option, see `links_of`."""
        return self.links_of(np.arange(len(self)))

    def links_of(self, picked: NDArray[np.integer]) -> Ragged[np.uint16]:
        """Return the word links inside some options, as in `PhraseTable.alignments`; none where they are not known."""
        number, rows = self._linking_table[picked], self.rows[picked]
        unlinked = int((number == len(self.tables)).sum())
        parts = [Ragged(np.empty(0, np.uint16), np.zeros(unlinked + 1, np.int64))]
        for i, table in reversed([*enumerate(self.tables)]):
            if table.alignments is not None:
                parts.insert(0, table.alignments.take(rows[number == i, i]))
        order = np.argsort(number, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return Ragged.concatenate(parts).take(place)

    @cached_property
    def _linking_table(self) -> NDArray[np.int64]:
        """The first table that has the links of each option, or the number of tables if none has."""
        number = np.full(len(self), len(self.tables))
        for i, table in reversed([*enumerate(self.tables)]):
            if table.alignments is not None:
                number[self.rows[:, i] >= 0] = i
        return number

    def take(self, picked: NDArray[np.integer]) -> PhraseOptions:
        """Return some of the options; `picked` must be ascending."""
        counts = np.bincount(self.sentence[picked], minlength=len(self.offsets) - 1)
        offsets = np.zeros(len(self.offsets), np.int64)
        np.cumsum(counts, out=offsets[1:])
        return PhraseOptions(
            self.source,
            self.vocab,
            offsets,
            self.begin[picked],
            self.end[picked],
            self.words.take(picked),
            self.rows[picked],
            self.unknown[picked],
            self.copied[picked],
            lambda: (self.dense[picked], self.reordering[:, picked]),
            self.source_ids,
            self.tables,
        )


def apply_markup(
    options: PhraseOptions, given: Sequence[Sequence[FixedTranslation]], columns: Mapping[str, int]
) -> PhraseOptions:
    """Replace all options that touch the span of a fixed translation by that translation.

    They score like phrase pairs whose p(e|f) in every table is the given probability and whose other scores are 1.
    """
    every = [(sentence, one) for sentence, row in enumerate(given) for one in row]
    if not every:
        return options
    sentences = np.array([sentence for sentence, _ in every])
    begin, end = (np.array([getattr(one, side) for _, one in every], np.int32) for side in ("begin", "end"))
    free = np.ones(len(options), bool)
    for sentence, first, last in zip(sentences.tolist(), begin.tolist(), end.tolist(), strict=True):
        touches = (options.begin < last) & (options.end > first) & (options.sentence == sentence)
        free &= ~touches
    kept = options.take(np.flatnonzero(free))
    vocab, ids, lines = options.vocab.extend("".join(f"{one.target}\n" for _, one in every).encode())
    words = Ragged(ids, lines)
    dense = np.zeros((len(every), options.dense.shape[1]))
    dense[:, columns["word_penalty"]] = -words.lengths
    dense[:, columns["phrase_penalty"]] = 1
    for name, column in columns.items():
        if name.endswith(".fwd"):
            dense[:, column] = [one.log_probability for _, one in every]
    return _with_options(
        kept,
        sentences,
        (begin, end),
        words,
        vocab=vocab,
        dense=dense,
        unknown=np.zeros(len(every), bool),
        copied=np.full(len(every), -1, np.int8),
    )


def _with_options(
    kept: PhraseOptions,
    sentences: NDArray[np.int64],
    spans: tuple[NDArray[np.int32], NDArray[np.int32]],
    words: Ragged[np.int32],
    *,
    vocab: Vocab,
    dense: NDArray[np.float64],
    unknown: NDArray[np.bool_],
    copied: NDArray[np.int8],
) -> PhraseOptions:
    """Add options that no table has, after those of the same span."""
    where = np.concatenate([kept.sentence, sentences])
    starts, ends = (np.concatenate(both) for both in zip((kept.begin, kept.end), spans, strict=True))
    order = np.lexsort((ends, starts, where))
    offsets = np.zeros(len(kept.offsets), np.int64)
    np.cumsum(np.bincount(where, minlength=len(offsets) - 1), out=offsets[1:])
    no_rows = np.full((len(sentences), kept.rows.shape[1]), -1)
    no_orientations = np.zeros((len(kept.reordering), len(sentences), 6))
    return PhraseOptions(
        source=kept.source,
        vocab=vocab,
        offsets=offsets,
        begin=starts[order],
        end=ends[order],
        words=Ragged.concatenate([kept.words, words]).take(order),
        rows=np.concatenate([kept.rows, no_rows])[order],
        unknown=np.concatenate([kept.unknown, unknown])[order],
        copied=np.concatenate([kept.copied, copied])[order],
        features=lambda: (
            np.concatenate([kept.dense, dense])[order],
            np.concatenate([kept.reordering, no_orientations], axis=1)[:, order],
        ),
        source_ids=kept.source_ids,
        tables=kept.tables,
    )


class OptionCollector:
    """Finds the options of sentences in a model's phrase tables."""

    def __init__(self, model: Model, *, table_limit: int, drop_unknown: bool = False):
        self._model = model
        self._tables = tuple(model.tables.values())
        self._limit = table_limit
        self._drop_unknown = drop_unknown
        self.are_mixed = any(table.components or table.reordering_components for table in self._tables)
        # Targets of all tables in one numbering, so that the same pair in two tables is one option.
        if len(self._tables) == 1:
            self._targets = self._tables[0].targets
            numbers = [np.arange(len(self._targets), dtype=np.int32)]
        else:
            parts = Ragged.concatenate([table.targets for table in self._tables])
            every, words, bounds = kernels.intern_sequences(parts.values, parts.offsets)
            self._targets = Ragged(words, bounds)
            numbers = np.split(every, np.cumsum([len(table.targets) for table in self._tables])[:-1])
        self._columns = dict(zip(model.dense_features, itertools.count(), strict=False))
        self._for_kernels = [self._table(*one) for one in zip(model.tables, self._tables, numbers, strict=True)]

    def _table(self, name: str, table: PhraseTable, numbers: NDArray[np.int32]) -> kernels.OptionTable:
        """Return a table as kernels take it; the scores of a mixture depend on weights and are computed later."""
        mixed, nothing = table.components, np.empty((0, 0), np.float32)
        return kernels.OptionTable(
            sources=table.sources.for_kernels(),
            index=table.index,
            first_pair=table.first_pair,
            target_ids=table.target_ids,
            numbers=numbers,
            scores=nothing if mixed else np.ascontiguousarray(table.log_scores),
            column=self._columns[f"{name}.{table.score_names[0]}"],
            reordering=[
                np.ascontiguousarray(table.log_reordering.get(other, nothing)) for other in self._model.reorderings
            ],
            components=np.ascontiguousarray(mixed.probabilities) if mixed else nothing[None],
            ranked=table.score_names.index("fwd") if "fwd" in table.score_names else 0,
            longest=max(1, table.max_source_length),
        )

    def collect(
        self,
        source: Corpus,
        weights: Weights,
        given: Sequence[Sequence[FixedTranslation]] = (),
        *,
        ranking: kernels.OptionRanking | None = None,
        threads: int = 1,
    ) -> PhraseOptions:
        """Collect the options of tokenised sentences; `source` has a vocabulary of its own.

        Weights matter only for the interpolation of mixture tables. With a `ranking`, only the best options of each
        span by score are kept.
        """
        shares = self._model.interpolation_weights(weights) if self.are_mixed else {}
        tokens = source.vocab.map_to(self._model.source_vocab)[source.sentences.values]
        tables = self._source(shares)
        found = kernels.collect_options(
            Ragged(tokens, source.sentences.offsets).for_kernels(), tables, ranking, threads
        )
        rows, words = found["rows"], found["words"]
        is_unknown = np.logical_and.reduce([column < 0 for column in rows.T])
        unknown = np.flatnonzero(is_unknown)
        sentence = np.searchsorted(found["offsets"], unknown, side="right") - 1
        positions = source.sentences.offsets[sentence] + found["begin"][unknown]
        dropped = np.full(len(unknown), self._drop_unknown)
        vocab, passed = pass_through(self._model, source, positions, dropped=dropped)
        words[words < 0] = passed.values
        scores = [found[name] for name in ("local", "reorder_from", "reorder_to", "exit_class") if name in found]
        options = PhraseOptions(
            source=source,
            vocab=vocab,
            offsets=found["offsets"],
            begin=found["begin"],
            end=found["end"],
            words=Ragged(words, found["word_offsets"]),
            rows=rows,
            unknown=is_unknown,
            copied=np.full(len(rows), -1, np.int8),
            features=lambda: self._features(rows, tables, shares),
            source_ids=tokens,
            tables=self._tables,
            ranked=RankedScores(weights, *scores) if scores else None,
        )
        copied = add_copies(options, self._model, drop_unknown=self._drop_unknown, columns=self._columns)
        return apply_markup(copied, given, self._columns)

    def _source(self, shares: Mapping[str, NDArray[np.float64]]) -> kernels.OptionSource:
        """Return the tables as kernels take them, with the shares of mixtures."""
        none = np.empty(0)
        return kernels.OptionSource(
            tables=self._for_kernels,
            shares=[
                shares[name][table.score_names.index("fwd")] if name in shares and "fwd" in table.score_names else none
                for name, table in self._model.tables.items()
            ],
            targets=self._targets.for_kernels(),
            limit=self._limit,
            pass_unknown=not self._drop_unknown,
            features=len(self._columns),
            word_penalty=self._columns["word_penalty"],
            phrase_penalty=self._columns["phrase_penalty"],
            unknown_word=self._columns["unknown_word"],
            unknown_score=UNKNOWN_WORD,
        )

    def _features(
        self, rows: NDArray[np.int64], tables: kernels.OptionSource, shares: Mapping[str, NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the features of options, and their scores of reordering models."""
        dense, reordering = kernels.option_features(rows, tables)
        reordering = reordering.reshape(len(self._model.reorderings), len(rows), 6)
        self._mix(rows, dense, reordering, shares)
        return dense, reordering

    def _mix(
        self,
        rows: NDArray[np.int64],
        dense: NDArray[np.float64],
        reordering: NDArray[np.float64],
        shares: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Fill in the scores of mixtures, which depend on interpolation weights."""
        for i, (name, table) in enumerate(self._model.tables.items()):
            here = np.flatnonzero(rows[:, i] >= 0)
            if table.components is not None:
                first = self._columns[f"{name}.{table.score_names[0]}"]
                mixed = mixed_log_scores(table.components, rows[here, i], shares[name])
                dense[here, first : first + len(table.score_names)] = mixed
            for r, other in enumerate(self._model.reorderings):
                if other in table.reordering_components:
                    parts = table.reordering_components[other]
                    reordering[r, here] = mixed_log_scores(parts, rows[here, i], of_orientations(shares[other]))


def add_copies(
    options: PhraseOptions, model: Model, *, drop_unknown: bool, columns: Mapping[str, int]
) -> PhraseOptions:
    """Add options that copy words, if the model has a feature for them; unknown words among these are not unknown."""
    if model.copy_feature is None:
        return options
    source = options.source
    unknown = np.flatnonzero(options.unknown)
    begins = source.sentences.offsets[options.sentence] + options.begin
    alone, classes = copied_words(model, source, begins[unknown])
    vocab, passed = pass_through(model, source, alone, dropped=(classes < 0) & drop_unknown)
    kept = options.take(np.flatnonzero(~options.unknown))
    sentence = np.searchsorted(source.sentences.offsets, alone, side="right") - 1
    begin = (alone - source.sentences.offsets[sentence]).astype(np.int32)
    dense = np.zeros((len(alone), options.dense.shape[1]))
    dense[:, columns["word_penalty"]] = -passed.lengths
    dense[:, columns["phrase_penalty"]] = classes < 0
    dense[classes < 0, columns["unknown_word"]] = UNKNOWN_WORD
    return _with_options(
        kept,
        sentence,
        (begin, begin + np.int32(1)),
        passed,
        vocab=vocab,
        dense=dense,
        unknown=classes < 0,
        copied=classes,
    )
