"""Translation options: for a batch of sentences, every phrase pair that fits on a span, with its features."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.ragged import Ragged
from dragoman.model.bundle import Model
from dragoman.model.phrase_table import PhraseTable, log_scores
from dragoman.search.batch import UNKNOWN_WORD, unknown_words
from dragoman.search.fixed_translations import FixedTranslation


@dataclass(frozen=True, eq=False)
class PhraseOptions:
    """The translation options of a batch of sentences, grouped by sentence, then by begin and length of the span.

    `rows` has a column for each phrase table: the row of the pair there, -1 where the table lacks it. Words are ids of
    `vocab`, which holds the model's target words and the batch's unknown source words. `dense` has a column for each
    feature of the model; features that depend on context are 0 in it. `reordering` holds for each reordering model
    six logarithms an option. `source_ids` are the running words of `source` as ids of the model, and `tables` are its
    tables, for features that look at words and links.
    """

    source: Corpus
    vocab: Vocab
    offsets: NDArray[np.int64]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    words: Ragged[np.int32]
    rows: NDArray[np.int64]
    unknown: NDArray[np.bool_]
    dense: NDArray[np.float64]
    reordering: NDArray[np.float64]
    source_ids: NDArray[np.int32]
    tables: tuple[PhraseTable, ...]

    def __len__(self) -> int:
        return len(self.begin)

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
            self.dense[picked],
            self.reordering[:, picked],
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
    where = np.concatenate([kept.sentence, sentences])
    starts, ends = np.concatenate([kept.begin, begin]), np.concatenate([kept.end, end])
    order = np.lexsort((ends, starts, where))
    offsets = np.zeros(len(options.offsets), np.int64)
    np.cumsum(np.bincount(where, minlength=len(offsets) - 1), out=offsets[1:])
    nothing = np.zeros((len(options.reordering), len(every), 6))
    return PhraseOptions(
        source=options.source,
        vocab=vocab,
        offsets=offsets,
        begin=starts[order],
        end=ends[order],
        words=Ragged.concatenate([kept.words, words]).take(order),
        rows=np.concatenate([kept.rows, np.full((len(every), options.rows.shape[1]), -1)])[order],
        unknown=np.concatenate([kept.unknown, np.zeros(len(every), bool)])[order],
        dense=np.concatenate([kept.dense, dense])[order],
        reordering=np.concatenate([kept.reordering, nothing], axis=1)[:, order],
        source_ids=options.source_ids,
        tables=options.tables,
    )


class OptionCollector:
    """Finds the options of sentences in a model's phrase tables."""

    def __init__(self, model: Model, *, table_limit: int, drop_unknown: bool = False):
        self._model = model
        self._tables = tuple(model.tables.values())
        self._limit = table_limit
        self._drop_unknown = drop_unknown
        self.are_mixed = any(table.components is not None for table in self._tables)
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
        weights: Mapping[str, float],
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
        none = np.empty(0)
        found = kernels.collect_options(
            Ragged(tokens, source.sentences.offsets).for_kernels(),
            kernels.OptionSource(
                tables=self._for_kernels,
                shares=[
                    shares[name][table.score_names.index("fwd")]
                    if name in shares and "fwd" in table.score_names
                    else none
                    for name, table in self._model.tables.items()
                ],
                targets=self._targets.for_kernels(),
                limit=self._limit,
                pass_unknown=not self._drop_unknown,
                features=len(self._columns),
                word_penalty=self._columns["word_penalty"],
                phrase_penalty=self._columns["phrase_penalty"],
            ),
            ranking,
            threads,
        )
        rows, dense, words = found["rows"], found["dense"], found["words"]
        is_unknown = np.logical_and.reduce([column < 0 for column in rows.T])
        unknown = np.flatnonzero(is_unknown)
        sentence = np.searchsorted(found["offsets"], unknown, side="right") - 1
        positions = source.sentences.offsets[sentence] + found["begin"][unknown]
        vocab, passed = unknown_words(self._model, source, positions, drop=self._drop_unknown)
        words[words < 0] = passed.values
        dense[unknown, self._columns["unknown_word"]] = UNKNOWN_WORD
        for i, (name, table) in enumerate(self._model.tables.items()):
            if name in shares:
                here = np.flatnonzero(rows[:, i] >= 0)
                first = self._columns[f"{name}.{table.score_names[0]}"]
                dense[here, first : first + len(table.score_names)] = _mixed(table, rows[here, i], shares[name])
        options = PhraseOptions(
            source=source,
            vocab=vocab,
            offsets=found["offsets"],
            begin=found["begin"],
            end=found["end"],
            words=Ragged(words, found["word_offsets"]),
            rows=rows,
            unknown=is_unknown,
            dense=dense,
            reordering=found["reordering"].reshape(len(self._model.reorderings), len(rows), 6),
            source_ids=tokens,
            tables=self._tables,
        )
        return apply_markup(options, given, self._columns)


def _mixed(
    table: PhraseTable, rows: NDArray[np.int64], interpolation_weights: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return the log scores of pairs in a mixture, exactly as a collapsed table would have them."""
    assert table.components is not None
    return log_scores(table.components.take(rows).mixed(interpolation_weights).astype(np.float32))
