"""Unaligned words of phrase pairs: inserted target words, and deleted source words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.core.ragged import Ragged, unique_ids
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.features.frequent_words import FrequentWords, Side, frequent_words
from dragoman.model.feature_types import ModelParts, PairFeature, PairsInUse, named_rows, need_links


@dataclass(frozen=True)
class UnlinkedWords(PairFeature):
    """Base of the features that count unaligned words of one side, in pairs with word alignments.

    The option `source_words` or `target_words` is the number of words that have a feature of their own.
    """

    side: ClassVar[Side]

    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Find the frequent words."""
        need_links(self.name, parts)
        return {self.side: frequent_words(parts, self.side, getattr(self, f"{self.side}_words"))}

    @cached_property
    def _classes(self) -> FrequentWords:
        return FrequentWords.load(self.parts, self.learnt, self.side)

    def check(self) -> None:
        """Refuse arrays that are not word ids."""
        _ = self._classes

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return a row for each pair."""
        phrases = pairs.words if self.side == "target" else pairs.source_words
        unlinked = np.flatnonzero(~_has_link(pairs, phrases, self.side))
        row = np.repeat(np.arange(len(phrases)), phrases.lengths)[unlinked]
        asked = pairs.linked[row]
        classes = self._classes.of(phrases.values[unlinked[asked]])
        occurring, ids = unique_ids(classes, len(self._classes.vocab))
        names = [f"{self.prefix}.{word}" for word in self._classes.names(occurring.astype(np.int32))]
        return named_rows(len(phrases), row[asked], ids, names)

    def has(self, rest: str) -> bool:
        """Return True if `rest` is the name of a class."""
        return rest in self._classes.all_names


@dataclass(frozen=True)
class WordInsertion(UnlinkedWords):
    """`twi.WORD`: the number of insertions of an unaligned target word (Chiang, Knight & Wang 2009)."""

    name = "word-insertion"
    prefix = "twi"
    side = "target"

    target_words: int = option(50, "number of most frequent words with a feature of their own; 0: all", minimum=0)


@dataclass(frozen=True)
class WordDeletion(UnlinkedWords):
    """`swd.WORD`: the number of deletions of an unaligned source word inside a phrase."""

    name = "word-deletion"
    prefix = "swd"
    side = "source"

    source_words: int = option(50, "number of most frequent words with a feature of their own; 0: all", minimum=0)


def _has_link(pairs: PairsInUse, phrases: Ragged[np.int32], side: Side) -> NDArray[np.bool_]:
    """Return whether each running word of one side has a link."""
    links = pairs.links
    position = links.values & 255 if side == "target" else links.values >> 8
    has = np.zeros(len(phrases.values), bool)
    has[np.repeat(phrases.offsets[:-1], links.lengths) + position] = True
    return has
