"""Words of phrase pairs without a link: target words that come from nowhere, and source words that are left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.features.frequent_words import Side, WordClasses, distinct, frequent_words
from dragoman.model.feature_types import ModelParts, PairFeature, PairsInUse, named_rows, need_links


@dataclass(frozen=True)
class UnlinkedWords(PairFeature):
    """Base of the features that count the words of one side that have no link, in pairs whose links are known.

    Its option `source_words` or `target_words`, after its side, is how many of them have a feature of their own.
    """

    side: ClassVar[Side]

    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Find the frequent words."""
        need_links(self.name, parts)
        return {self.side: frequent_words(parts, self.side, getattr(self, f"{self.side}_words"))}

    @cached_property
    def _classes(self) -> WordClasses:
        return WordClasses.load(self.parts, self.learnt, self.side)

    def check(self) -> None:
        """Refuse an array that does not name words."""
        _ = self._classes

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return a row for each pair."""
        phrases = pairs.words if self.side == "target" else pairs.source_words
        unlinked = np.flatnonzero(~_has_link(pairs, phrases, self.side))
        row = np.repeat(np.arange(len(phrases)), phrases.lengths)[unlinked]
        asked = pairs.linked[row]
        classes = self._classes.of(phrases.values[unlinked[asked]])
        occurring, ids = distinct(classes, len(self._classes.vocab))
        names = [f"{self.prefix}.{word}" for word in self._classes.names(occurring)]
        return named_rows(len(phrases), row[asked], ids, names)

    def has(self, rest: str) -> bool:
        """Whether `rest` is the name of a class."""
        return rest in self._classes.all_names


@dataclass(frozen=True)
class WordInsertion(UnlinkedWords):
    """`twi.WORD`: how often a target word without a link is put in (Chiang, Knight & Wang 2009)."""

    name = "word-insertion"
    prefix = "twi"
    side = "target"

    target_words: int = option(50, "words with a feature of their own, most frequent first; 0 is all", minimum=0)


@dataclass(frozen=True)
class WordDeletion(UnlinkedWords):
    """`swd.WORD`: how often a source word without a link is left untranslated inside a phrase."""

    name = "word-deletion"
    prefix = "swd"
    side = "source"

    source_words: int = option(50, "words with a feature of their own, most frequent first; 0 is all", minimum=0)


def _has_link(pairs: PairsInUse, phrases: Ragged[np.int32], side: Side) -> NDArray[np.bool_]:
    """Whether each running word of one side has a link."""
    links = pairs.links
    position = links.values & 255 if side == "target" else links.values >> 8
    has = np.zeros(len(phrases.values), bool)
    has[np.repeat(phrases.offsets[:-1], links.lengths) + position] = True
    return has
