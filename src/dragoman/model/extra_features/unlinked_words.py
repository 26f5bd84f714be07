"""Words of phrase pairs without a link: what target-word insertion and source-word deletion count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.model.extra_features.feature import (
    ExtraFeature,
    ModelParts,
    PairFeature,
    PairsInUse,
    named_rows,
    need_links,
)
from dragoman.model.extra_features.frequent_words import Side, WordClasses, distinct, frequent_words


@dataclass(frozen=True)
class UnlinkedWordFeature(ExtraFeature):
    """Base of the features that count the words of one side that have no link.

    Its option `source_words` or `target_words`, after its side, is how many of them have a feature of their own.
    """

    side: ClassVar[Side]

    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Find the frequent words."""
        need_links(self.name, parts)
        return {self.side: frequent_words(parts, self.side, getattr(self, f"{self.side}_words"))}

    def ready(self, parts: ModelParts, learnt: Arrays) -> PairFeature:
        """Return the feature."""
        return UnlinkedWords(self.prefix, self.side, WordClasses.load(parts, learnt, self.side))


@dataclass(frozen=True, eq=False)
class UnlinkedWords(PairFeature):
    """Counts the words of one side that have no link, in pairs whose links are known, by their classes."""

    prefix: str
    side: Side
    classes: WordClasses

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return a row for each pair."""
        phrases = pairs.words if self.side == "target" else pairs.source_words
        unlinked = np.flatnonzero(~_has_link(pairs, phrases, self.side))
        row = np.repeat(np.arange(len(phrases)), phrases.lengths)[unlinked]
        asked = pairs.linked[row]
        classes = self.classes.of(phrases.values[unlinked[asked]])
        occurring, ids = distinct(classes, len(self.classes.vocab))
        names = [f"{self.prefix}.{word}" for word in self.classes.names(occurring)]
        return named_rows(len(phrases), row[asked], ids, names)

    def has(self, rest: str) -> bool:
        """Whether `rest` is the name of a class."""
        return rest in self.classes.all_names


def _has_link(pairs: PairsInUse, phrases: Ragged[np.int32], side: Side) -> NDArray[np.bool_]:
    """Whether each running word of one side has a link."""
    links = pairs.links
    position = links.values & 255 if side == "target" else links.values >> 8
    has = np.zeros(len(phrases.values), bool)
    has[np.repeat(phrases.offsets[:-1], links.lengths) + position] = True
    return has
