"""Frequency cut-offs: the most frequent words have their own features, all others share `OTHER`, as in Moses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import UNK, Vocab
from dragoman.core.store import Arrays
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.feature_types import ModelParts, learnt_array
from dragoman.model.grammar import Grammar
from dragoman.model.phrase_table import PhraseTable

Side = Literal["source", "target"]

#: The name for all words that are not frequent enough.
OTHER = "OTHER"


@dataclass(frozen=True, eq=False)
class FrequentWords:
    """Classes of the words of one side: the class of a frequent word is its id, the class of all others is 0."""

    vocab: Vocab
    frequent: NDArray[np.bool_]

    @classmethod
    def load(cls, parts: ModelParts, learnt: Arrays, side: Side) -> FrequentWords:
        """Rebuild from the result of `frequent_words`."""
        vocab = _vocab(parts, side)
        frequent = np.zeros(len(vocab), bool)
        frequent[learnt_array(learnt, side, np.int32, below=len(vocab))] = True
        frequent[UNK] = False
        return cls(vocab, frequent)

    def of(self, words: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the class of each word; words that are unknown to the model are not frequent."""
        known = words < len(self.frequent)
        words = np.where(known, words, UNK)
        return np.where(self.frequent[words], words, 0).astype(np.int32)

    def names(self, classes: NDArray[np.int32]) -> list[str]:
        """Return the names of classes."""
        text = self.vocab.decode(classes, np.arange(len(classes) + 1, dtype=np.int64)).decode()
        words = text.split("\n")[:-1]
        return [word if number else OTHER for word, number in zip(words, classes.tolist(), strict=True)]

    @cached_property
    def all_names(self) -> frozenset[str]:
        """Return the names of all classes."""
        return frozenset([OTHER, *self.names(np.flatnonzero(self.frequent).astype(np.int32))])


def frequent_words(parts: ModelParts, side: Side, limit: int) -> NDArray[np.int32]:
    """Return the ids of the `limit` most frequent words of phrase pairs or rules, in descending order; 0 is no limit.

    A pair or rule counts as often as it was extracted, if its table has counts; for a grammar on demand, the words of
    the text are counted.
    """
    vocab = _vocab(parts, side)
    frequency = np.zeros(len(vocab))
    for table in parts.tables.values():
        frequency += _frequencies(table, side, len(vocab))
    for grammar in parts.grammars.values():
        frequency += _rule_frequencies(grammar, side, len(vocab))
    frequency[UNK] = 0
    order = np.lexsort((np.arange(len(vocab)), -frequency))
    there = int(np.count_nonzero(frequency))
    return order[: min(limit, there) if limit else there].astype(np.int32)


def _vocab(parts: ModelParts, side: Side) -> Vocab:
    return parts.source_vocab if side == "source" else parts.target_vocab


def _frequencies(table: PhraseTable, side: Side, words: int) -> NDArray[np.float64]:
    weights = _times(table)
    source_ids = np.repeat(np.arange(len(table.sources)), np.diff(table.first_pair))
    phrases, ids = (table.sources, source_ids) if side == "source" else (table.targets, table.target_ids)
    of_phrase = np.bincount(ids, weights, minlength=len(phrases))
    return np.bincount(phrases.values, np.repeat(of_phrase, phrases.lengths), minlength=words).astype(np.float64)


def _rule_frequencies(grammar: Grammar | CorpusGrammar, side: Side, words: int) -> NDArray[np.float64]:
    if isinstance(grammar, CorpusGrammar):
        text = grammar.text.source if side == "source" else grammar.text.target
        return np.bincount(text.values, minlength=words).astype(np.float64)
    weights, sides = _times(grammar), grammar.targets
    if side == "source":
        used = np.flatnonzero(np.diff(grammar.first_rule))
        weights, sides = (
            np.add.reduceat(weights, grammar.first_rule[used]) if len(used) else weights,
            grammar.sides(used),
        )
    is_word = sides.values >= 0
    running = np.repeat(weights, sides.lengths)[is_word]
    return np.bincount(sides.values[is_word], running, minlength=words).astype(np.float64)


def _times(table: PhraseTable | Grammar) -> NDArray[np.float64]:
    """Return how often each pair or rule was extracted."""
    return np.ones(len(table)) if table.counts is None else np.nan_to_num(table.counts[:, 2].astype(float), nan=1.0)
