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
from dragoman.model.mixture import of_orientations
from dragoman.model.phrase_table import PhraseTable
from dragoman.search.batch import UNKNOWN_WORD, copied_words, pass_through
from dragoman.search.fixed_translations import FixedTranslation
from dragoman.search.mixed_scores import best_mixed, mixed_log_scores, runs


@dataclass(frozen=True, eq=False)
class PhraseOptions:
    """The translation options of a batch of sentences, grouped by sentence, then by begin and length of the span.

    `rows` has a column for each phrase table: the row of the pair there, -1 where the table lacks it. Words are ids of
    `vocab`, which holds the model's target words and the batch's unknown source words. `dense` has a column for each
    feature of the model; features that depend on context are 0 in it. `reordering` holds for each reordering model
    six logarithms an option. `copied` is the class of options that a feature generated, or -1. `source_ids` are the
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
            self.copied[picked],
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
        copied=np.concatenate([kept.copied, np.full(len(every), -1, np.int8)])[order],
        dense=np.concatenate([kept.dense, dense])[order],
        reordering=np.concatenate([kept.reordering, nothing], axis=1)[:, order],
        source_ids=options.source_ids,
        tables=options.tables,
    )


class OptionCollector:
    """Finds the options of sentences in a model's phrase tables."""

    def __init__(self, model: Model, *, table_limit: int, drop_unknown: bool = False):
        self._model = model
        self._tables = list(model.tables.values())
        self._limit = table_limit
        self._drop_unknown = drop_unknown
        self._are_mixed = any(table.components is not None for table in self._tables)
        self._longest = [max(1, table.max_source_length) for table in self._tables]
        # Targets of all tables in one numbering, so that the same pair in two tables is one option.
        if len(self._tables) == 1:
            self._targets = self._tables[0].targets
            self._numbers = [np.arange(len(self._targets), dtype=np.int32)]
        else:
            parts = Ragged.concatenate([table.targets for table in self._tables])
            numbers, words, bounds = kernels.intern_sequences(parts.values, parts.offsets)
            self._targets = Ragged(words, bounds)
            self._numbers = np.split(numbers, np.cumsum([len(table.targets) for table in self._tables])[:-1])
        self._columns = dict(zip(model.dense_features, itertools.count(), strict=False))

    def collect(
        self, source: Corpus, weights: Mapping[str, float], given: Sequence[Sequence[FixedTranslation]] = ()
    ) -> PhraseOptions:
        """Collect the options of tokenised sentences; `source` has a vocabulary of its own.

        Weights matter only for the interpolation of mixture tables.
        """
        sentences = source.sentences
        tokens = source.vocab.map_to(self._model.source_vocab)[sentences.values]
        interpolation_weights = self._model.interpolation_weights(weights) if self._are_mixed else {}
        spans, rows, targets = self._find(tokens, sentences.offsets, interpolation_weights)
        position, length = spans[:, 0], spans[:, 1]
        covered = np.zeros(len(tokens), bool)
        covered[position[length == 1]] = True
        alone, classes = copied_words(self._model, source, np.flatnonzero(~covered))
        dropped = (classes < 0) & self._drop_unknown
        vocab, passed = pass_through(self._model, source, alone, dropped=dropped)

        position = np.concatenate([position, alone])
        length = np.concatenate([length, np.ones(len(alone), np.int64)])
        order = np.argsort(position * (len(tokens) + 1) + length, kind="stable")
        rows = np.concatenate([rows, np.full((len(alone), len(self._tables)), -1)])[order]
        words = Ragged.concatenate([self._targets.take(targets), passed]).take(order)
        copied = np.concatenate([np.full(len(targets), -1, np.int8), classes])[order]
        is_unknown = (order >= len(targets)) & (copied < 0)
        position, length = position[order], length[order]
        sentence = np.searchsorted(sentences.offsets, position, side="right") - 1
        offsets = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum(np.bincount(sentence, minlength=len(sentences)), out=offsets[1:])
        begin = position - sentences.offsets[sentence]
        options = PhraseOptions(
            source=source,
            vocab=vocab,
            offsets=offsets,
            begin=begin.astype(np.int32),
            end=(begin + length).astype(np.int32),
            words=words,
            rows=rows,
            unknown=is_unknown,
            copied=copied,
            dense=self._dense(rows, words.lengths, is_unknown, copied >= 0, interpolation_weights),
            reordering=self._reordering(rows, interpolation_weights),
            source_ids=tokens,
            tables=tuple(self._tables),
        )
        return apply_markup(options, given, self._columns)

    def _find(
        self,
        tokens: NDArray[np.int32],
        lines: NDArray[np.int64],
        interpolation_weights: Mapping[str, NDArray[np.float64]],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return spans (position, length), rows in each table, and target numbers of all pairs that fit."""
        spans, rows, targets = [], [], []
        for i, (name, table) in enumerate(self._model.tables.items()):
            phrases = table.sources
            found = kernels.match_spans(tokens, lines, self._longest[i], phrases.values, phrases.offsets, table.index)
            position, column = np.nonzero(found >= 0)
            phrase = found[position, column]
            if table.components is None:
                first = table.first_pair[phrase]
                row, count = runs(first, self._limited(table.first_pair[phrase + 1] - first))
            else:
                row, count = self._best_mixed(table, phrase, interpolation_weights[name])
            spans.append(np.repeat(np.stack([position, column + 1], axis=1), count, axis=0))
            own = np.full((len(row), len(self._tables)), -1, np.int64)
            own[:, i] = row
            rows.append(own)
            targets.append(self._numbers[i][table.target_ids[row]].astype(np.int64))
        if len(self._tables) == 1:
            return spans[0], rows[0], targets[0]
        return _merged(np.concatenate(spans), np.concatenate(rows), np.concatenate(targets))

    def _limited(self, count: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum(count, self._limit) if self._limit else count

    def _best_mixed(
        self, table: PhraseTable, phrase: NDArray[np.integer], interpolation_weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of the best pairs of phrases by the p(e|f) of a mixture, and their number per phrase."""
        assert table.components is not None
        distinct, place = np.unique(phrase, return_inverse=True)
        first = table.first_pair[distinct]
        groups = first, table.first_pair[distinct + 1] - first
        row, kept = best_mixed(table.components, table.score_names, groups, interpolation_weights, self._limit)
        best, count = runs((np.cumsum(kept) - kept)[place], kept[place])
        return row[best], count

    def _dense(
        self,
        rows: NDArray[np.int64],
        lengths: NDArray[np.int64],
        unknown: NDArray[np.bool_],
        copied: NDArray[np.bool_],
        interpolation_weights: Mapping[str, NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        dense = np.zeros((len(rows), len(self._columns)))
        dense[:, self._columns["word_penalty"]] = -lengths
        dense[:, self._columns["phrase_penalty"]] = ~copied
        dense[unknown, self._columns["unknown_word"]] = UNKNOWN_WORD
        for i, (name, table) in enumerate(self._model.tables.items()):
            here = rows[:, i] >= 0
            first = self._columns[f"{name}.{table.score_names[0]}"]
            own, parts = rows[here, i], table.components
            scores = (
                table.log_scores[own] if parts is None else mixed_log_scores(parts, own, interpolation_weights[name])
            )
            dense[here, first : first + len(table.score_names)] = scores
        return dense

    def _reordering(
        self, rows: NDArray[np.int64], interpolation_weights: Mapping[str, NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        scores = np.zeros((len(self._model.reorderings), len(rows), 6))
        for r, name in enumerate(self._model.reorderings):
            for i, table in enumerate(self._tables):
                if name in table.log_reordering:
                    here = rows[:, i] >= 0
                    own, parts = rows[here, i], table.reordering_components.get(name)
                    scores[r, here] = (
                        table.log_reordering[name][own]
                        if parts is None
                        else mixed_log_scores(parts, own, of_orientations(interpolation_weights[name]))
                    )
        return scores


def _merged(
    spans: NDArray[np.int64], rows: NDArray[np.int64], targets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Make one option of the same pair in several tables."""
    order = np.lexsort((targets, spans[:, 1], spans[:, 0]))
    spans, rows, targets = spans[order], rows[order], targets[order]
    new = np.ones(len(targets), bool)
    new[1:] = (spans[1:] != spans[:-1]).any(axis=1) | (targets[1:] != targets[:-1])
    first = np.flatnonzero(new)
    return spans[first], np.maximum.reduceat(rows, first, axis=0) if len(first) else rows, targets[first]


def exit_classes(options: PhraseOptions, right: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the classes of options that score alike as predecessors of every other option."""
    sides = options.reordering[:, :, 3:]
    key = [options.end, right]
    if len(sides):
        key += [
            options.begin,
            *np.ascontiguousarray(sides.astype(np.float32).transpose(0, 2, 1))
            .view(np.int32)
            .reshape(3 * len(sides), len(options)),
        ]
    matrix = np.ascontiguousarray(np.stack(key, axis=1).astype(np.int32))
    bounds = np.arange(len(options) + 1, dtype=np.int64) * matrix.shape[1]
    return kernels.intern_sequences(matrix.ravel(), bounds)[0]
