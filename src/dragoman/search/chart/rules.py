"""The rules that match spans of a batch of sentences, with their features and matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import DataError
from dragoman.core.ragged import Ragged, unique_ids
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.model.grammar import Grammar
from dragoman.model.parts import GRAMMAR_PENALTY
from dragoman.search.batch import UNKNOWN_WORD, copied_words, pass_through
from dragoman.search.chart.holes import reordered_holes
from dragoman.search.fixed_translations import FixedTranslation
from dragoman.search.mixed_scores import best_mixed, mixed_log_scores, runs


@dataclass(frozen=True, eq=False)
class RulePairs:
    """Satisfies `PairsInUse`: a row for each rule, with links between the words that it has itself.

    Columns are made when a feature asks for them.
    """

    rules: ChartRules

    @cached_property
    def source_words(self) -> Ragged[np.int32]:
        """The source words of each rule, which are those below the first match of its side, in ids of the model."""
        return self._sides[0].take(self.rules.side)

    @cached_property
    def words(self) -> Ragged[np.int32]:
        """The target words of each rule."""
        symbols = self.rules.words
        return Ragged(symbols.values[symbols.values >= 0], self._before[symbols.offsets])

    @property
    def vocab(self) -> Vocab:
        """The words that ids of the target side stand for."""
        return self.rules.vocab

    @cached_property
    def links(self) -> Ragged[np.uint16]:
        """The links of each rule, numbered by words; none where they are not known."""
        return _links(self.rules, self._sides[1], self._before)

    @cached_property
    def linked(self) -> NDArray[np.bool_]:
        """True where the word links of a rule are known."""
        known = np.array([grammar.alignments is not None for grammar in self.rules.grammars] + [False])
        return known[self.rules.grammar]

    @property
    def copied(self) -> NDArray[np.int8]:
        """The class of each rule that a feature generated, or -1."""
        return self.rules.copied

    @cached_property
    def _sides(self) -> tuple[Ragged[np.int32], NDArray[np.int64]]:
        return _source_sides(self.rules)

    @cached_property
    def _before(self) -> NDArray[np.int64]:
        """The number of words before each target symbol of all rules."""
        return np.concatenate([[0], np.cumsum(self.rules.words.values >= 0)])


def _source_sides(rules: ChartRules) -> tuple[Ragged[np.int32], NDArray[np.int64]]:
    """The words of each source side, and the symbols of it that are holes (none: beyond its end)."""
    side, first = np.unique(rules.matches[:, 0], return_index=True)
    begin, end, *holes = rules.matches[first, 1:].T.astype(np.int64)
    sentence = np.searchsorted(rules.match_offsets, first, side="right") - 1
    lengths = end - begin
    ends = np.cumsum(lengths)
    row = np.repeat(np.arange(len(first)), lengths)
    position = begin[row] + np.arange(len(row)) - (ends - lengths)[row]
    inside = np.zeros(len(row), bool)
    for left, right in zip(holes[::2], holes[1::2], strict=True):
        inside |= (position >= left[row]) & (position < right[row])
    ids = rules.source_ids[rules.source.sentences.offsets[sentence][row] + position]
    count = np.zeros(len(rules.first_rule) - 1, np.int64)
    count[side] = np.bincount(row[~inside], minlength=len(side))
    symbols = np.full((len(count), 2), np.iinfo(np.int32).max, np.int64)
    symbols[side, 0] = np.where(holes[0] < 0, symbols[side, 0], holes[0] - begin)
    symbols[side, 1] = np.where(holes[2] < 0, symbols[side, 1], holes[2] - begin - (holes[1] - holes[0] - 1))
    return Ragged(ids[~inside], np.concatenate([[0], np.cumsum(count)])), symbols


def _links(rules: ChartRules, holes: NDArray[np.int64], before: NDArray[np.int64]) -> Ragged[np.uint16]:
    """The links of each rule, numbered by words in place of symbols; none where they are not known."""
    parts: list[Ragged[np.uint16]] = []
    for number in [*range(len(rules.grammars)), -1]:
        rows = rules.row[rules.grammar == number]
        alignments = rules.grammars[number].alignments if number >= 0 else None
        parts.append(
            Ragged(np.empty(0, np.uint16), np.zeros(len(rows) + 1, np.int64))
            if alignments is None
            else alignments.take(rows)
        )
    # Rules stand in the order of their grammars, those that are in none last.
    links = Ragged.concatenate(parts)
    rule = np.repeat(np.arange(len(rules)), links.lengths)
    source, target = (links.values >> 8).astype(np.int64), (links.values & 255).astype(np.int64)
    source -= (source[:, None] > holes[rules.side[rule]]).sum(axis=1)
    first = rules.words.offsets[rule]
    target = before[first + target] - before[first]
    return Ragged((source * 256 + target).astype(np.uint16), links.offsets)


#: In place of a grammar, in what the kernel found.
_UNKNOWN, _GIVEN = -1, -2


@dataclass(frozen=True, eq=False)
class ChartRules:
    """The rules of a batch, grouped by source side, and the places where sides match.

    Rows of `matches` are a side, the span that it covers, and the spans of its holes (-1 where there is none); those of
    sentence `i` are `match_offsets[i]` to `match_offsets[i + 1]`, by rising end and falling begin. Side `s` has the
    rules `first_rule[s]` to `first_rule[s + 1]`. Target sides are words of `vocab`, which holds the target words
    of the model and unknown source words, or -1 and -2 for what fills the holes. `grammar` and `row` say where a rule
    is from, -1 for unknown, copied and given words. `copied` is the class of rules that a feature generated, or -1.
    `dense` has a column for each feature of the model. `source_ids` are the running words of `source` in ids of the
    model.
    """

    source: Corpus
    vocab: Vocab
    match_offsets: NDArray[np.int64]
    matches: NDArray[np.int32]
    first_rule: NDArray[np.int64]
    words: Ragged[np.int32]
    grammar: NDArray[np.int32]
    row: NDArray[np.int64]
    unknown: NDArray[np.bool_]
    copied: NDArray[np.int8]
    dense: NDArray[np.float64]
    grammars: tuple[Grammar, ...]
    source_ids: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def side(self) -> NDArray[np.int64]:
        """The source side of each rule."""
        return np.repeat(np.arange(len(self.first_rule) - 1), np.diff(self.first_rule))

    @cached_property
    def pairs(self) -> RulePairs:
        """The rules as features of phrase pairs see them."""
        return RulePairs(self)

    @cached_property
    def hole_sizes(self) -> NDArray[np.int32]:
        """The number of words that the holes of each match cover; 0 for no hole."""
        return self.matches[:, 4::2] - self.matches[:, 3::2]

    @cached_property
    def reordered(self) -> NDArray[np.bool_]:
        """True where a rule reorders its first and its second hole, as far as its links are known."""
        return reordered_holes(self)

    def take(self, picked: NDArray[np.integer]) -> ChartRules:
        """Return some of the rules; `picked` must be ascending."""
        first_rule = np.zeros(len(self.first_rule), np.int64)
        np.cumsum(np.bincount(self.side[picked], minlength=len(first_rule) - 1), out=first_rule[1:])
        return ChartRules(
            self.source,
            self.vocab,
            self.match_offsets,
            self.matches,
            first_rule,
            self.words.take(picked),
            self.grammar[picked],
            self.row[picked],
            self.unknown[picked],
            self.copied[picked],
            self.dense[picked],
            self.grammars,
            self.source_ids,
        )


class RuleCollector:
    """Finds the rules for sentences in a model's grammars."""

    def __init__(self, model: Model, *, span_limit: int, table_limit: int, drop_unknown: bool = False):
        self._model = model
        self._span_limit = span_limit
        self._limit = table_limit
        self._drop_unknown = drop_unknown
        self._are_mixed = bool(model.interpolation_weight_names)
        self._columns = {name: i for i, name in enumerate(model.dense_features)}

    def collect(
        self,
        source: Corpus,
        weights: Mapping[str, float],
        given: Sequence[Sequence[FixedTranslation]] = (),
        *,
        runtime: Runtime = Runtime(),
    ) -> ChartRules:
        """Collect the rules for tokenised sentences; `source` has a vocabulary of its own.

        Weights matter only for the interpolation of mixtures.
        """
        interpolation_weights = self._model.interpolation_weights(weights) if self._are_mixed else {}
        tokens = source.vocab.map_to(self._model.source_vocab)[source.sentences.values]
        rows = Ragged(tokens, source.sentences.offsets)
        grammars = tuple(
            grammar.for_sentences(rows, span_limit=self._span_limit, runtime=runtime.quiet())
            for grammar in self._model.grammars.values()
        )
        spans, fixed = _fixed_spans(source, given)
        found, match_offsets = kernels.chart_matches(
            [grammar.trie for grammar in grammars],
            rows.for_kernels(),
            fixed,
            np.array([*spans], np.int32).reshape(-1, 3),
            self._span_limit,
            runtime.threads,
        )
        found, match_offsets, classes = self._with_copies(source, fixed, found, match_offsets)
        kind, node = found[:, 0], found[:, 1]
        parts, sides = [], np.empty(len(found), np.int32)
        count = 0
        for i, grammar in enumerate(grammars):
            here = kind == i
            used, numbers = unique_ids(node[here], len(grammar.symbols))
            sides[here] = numbers + count
            parts.append(self._from_grammar(i, grammar, used, interpolation_weights))
            count += len(used)
        unknown = np.flatnonzero(kind == _UNKNOWN)
        sides[unknown] = count + np.arange(len(unknown))
        here = kind == _GIVEN
        sides[here] = count + len(unknown) + node[here]
        positions = _positions(source, match_offsets, found, unknown)
        dropped = (classes < 0) & self._drop_unknown
        vocab, words = pass_through(self._model, source, positions, dropped=dropped)
        parts.append(self._alone(words, np.ones(len(unknown), np.int64), np.where(classes < 0, UNKNOWN_WORD, 0.0)))
        parts[-1].dense[:, self._columns["rule_penalty"]] = classes < 0
        every = [one for row in spans.values() for one in row]
        vocab, ids, lines = vocab.extend("".join(f"{one.target}\n" for one in every).encode())
        parts.append(self._alone(Ragged(ids, lines), np.array([*map(len, spans.values())], np.int64)))
        for name, column in self._columns.items():
            if name.endswith(".fwd"):
                parts[-1].dense[:, column] = [one.log_probability for one in every]
        rules = [len(part.row) for part in parts]
        copied = np.full(sum(rules), -1, np.int8)
        copied[sum(rules[:-2]) : sum(rules[:-1])] = classes
        return ChartRules(
            source=source,
            vocab=vocab,
            match_offsets=match_offsets,
            matches=np.concatenate([sides[:, None], found[:, 2:]], axis=1),
            first_rule=np.concatenate([[0], np.cumsum(np.concatenate([part.counts for part in parts]))]),
            words=Ragged.concatenate([part.words for part in parts]),
            grammar=np.repeat(np.array([*range(len(grammars)), -1, -1], np.int32), rules),
            row=np.concatenate([part.row for part in parts]),
            unknown=np.repeat([*[False] * len(grammars), True, False], rules) & (copied < 0),
            copied=copied,
            dense=np.concatenate([part.dense for part in parts]),
            grammars=grammars,
            source_ids=tokens,
        )

    def _with_copies(
        self, source: Corpus, fixed: NDArray[np.uint8], found: NDArray[np.int32], match_offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int8]]:
        """Add matches of words that the model translates and a feature copies besides.

        Returns the matches, their offsets, and the class of each match of a word that passes through.
        """
        unknown = np.flatnonzero(found[:, 0] == _UNKNOWN)
        if self._model.copy_feature is None:
            return found, match_offsets, np.full(len(unknown), -1, np.int8)
        positions = _positions(source, match_offsets, found, unknown)
        alone, classes = copied_words(self._model, source, np.sort(positions))
        free = fixed[alone] == 0
        alone, classes = alone[free], classes[free]
        class_at = np.full(len(fixed), -1, np.int8)
        class_at[alone] = classes
        new = np.setdiff1d(alone, positions, assume_unique=True)
        if len(new):
            lines = source.sentences.offsets
            where = np.searchsorted(lines, new, side="right") - 1
            begin = (new - lines[where]).astype(np.int32)
            none = np.full(len(new), -1, np.int32)
            rows = np.stack([none, np.zeros_like(none), begin, begin + 1, none, none, none, none], axis=1)
            sentence = np.concatenate([np.repeat(np.arange(len(match_offsets) - 1), np.diff(match_offsets)), where])
            found = np.concatenate([found, rows])
            found = found[np.lexsort((-found[:, 2], found[:, 3], sentence))]
            match_offsets = match_offsets + np.searchsorted(np.sort(where), np.arange(len(match_offsets)))
            unknown = np.flatnonzero(found[:, 0] == _UNKNOWN)
        return found, match_offsets, class_at[_positions(source, match_offsets, found, unknown)]

    def _from_grammar(
        self,
        number: int,
        grammar: Grammar,
        nodes: NDArray[np.int64],
        interpolation_weights: Mapping[str, NDArray[np.float64]],
    ) -> _Part:
        name, parts = [*self._model.grammars][number], grammar.components
        first = grammar.first_rule[nodes]
        counts = grammar.first_rule[nodes + 1] - first
        if parts is None:
            row, counts = runs(first, np.minimum(counts, self._limit) if self._limit else counts)
            scores = grammar.log_scores[row]
        else:
            mixed = interpolation_weights[name]
            row, counts = best_mixed(parts, grammar.score_names, (first, counts), mixed, self._limit)
            scores = mixed_log_scores(parts, row, mixed)
        words = grammar.targets.take(row)
        dense = self._dense(words)
        column = self._columns[f"{name}.{grammar.score_names[0]}"]
        dense[:, column : column + len(grammar.score_names)] = scores
        if number:
            dense[:, self._columns[f"{name}.{GRAMMAR_PENALTY}"]] = 1
        return _Part(counts, words, row, dense)

    def _alone(
        self, words: Ragged[np.int32], counts: NDArray[np.int64], unknown: NDArray[np.float64] | float = 0.0
    ) -> _Part:
        """Return rules that no grammar has."""
        dense = self._dense(words)
        dense[:, self._columns["unknown_word"]] = unknown
        return _Part(counts, words, np.full(len(words), -1, np.int64), dense)

    def _dense(self, words: Ragged[np.int32]) -> NDArray[np.float64]:
        """Return the dense features that every rule has."""
        dense = np.zeros((len(words), len(self._columns)))
        before = np.concatenate([[0], np.cumsum(words.values >= 0)])
        dense[:, self._columns["word_penalty"]] = -np.diff(before[words.offsets])
        dense[:, self._columns["rule_penalty"]] = 1
        return dense


@dataclass(frozen=True, eq=False)
class _Part:
    """Rules from one place: how many each side has, and their columns."""

    counts: NDArray[np.int64]
    words: Ragged[np.int32]
    row: NDArray[np.int64]
    dense: NDArray[np.float64]


def _positions(
    source: Corpus, match_offsets: NDArray[np.int64], found: NDArray[np.int32], matches: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the running numbers of the first words of some matches."""
    sentence = np.searchsorted(match_offsets, matches, side="right") - 1
    return np.asarray(source.sentences.offsets[sentence] + found[matches, 2])


def _fixed_spans(
    source: Corpus, given: Sequence[Sequence[FixedTranslation]]
) -> tuple[dict[tuple[int, int, int], list[FixedTranslation]], NDArray[np.uint8]]:
    """Return the fixed translations by sentence and span, and for each running word whether such a span covers it."""
    spans: dict[tuple[int, int, int], list[FixedTranslation]] = {}
    fixed = np.zeros(len(source.sentences.values), np.uint8)
    for sentence, row in enumerate(given):
        for one in row:
            if one.begin == one.end:
                raise DataError(f"the translation '{one.target}' is given for no words", expected="words in the tag")
            spans.setdefault((sentence, one.begin, one.end), []).append(one)
            first = source.sentences.offsets[sentence]
            fixed[first + one.begin : first + one.end] = 1
    return spans, fixed
