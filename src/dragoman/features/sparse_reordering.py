"""Orientations of phrases by the word classes at their edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.model.feature_types import ModelParts, OrientationFeature, PairsInUse, classes_at_end, need_classes


@dataclass(frozen=True)
class SparseReordering(OrientationFeature):
    """`sr.sf12.bwd.swap`: a phrase whose first source word is of class 12 is swapped with the one before (Cherry 2013).

    `sf` and `sl` are the first and the last source word, `tf` and `tl` the first and the last target word; class 0 are
    unknown words. `bwd` is the orientation to the phrase before, `fwd` that of the phrase after. Cherry's orientation
    is hierarchical and has features of the words between; here it is that of neighbours, as in the reordering tables.
    """

    name = "sparse-reordering"
    prefix = "sr"

    sides: Literal["both", "source", "target"] = option("both", "sides of phrase pairs whose edges are looked at")

    @property
    def _sides(self) -> tuple[str, ...]:
        return ("source", "target") if self.sides == "both" else (self.sides,)

    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Learn nothing; refuse a model without word classes."""
        need_classes(self.name, parts, *self._sides)
        return {}

    def check(self) -> None:
        """Refuse a model without word classes."""
        need_classes(self.name, self.parts, *self._sides)

    @cached_property
    def _edges(self) -> tuple[tuple[NDArray[np.int32], str], ...]:
        """The class of each word of a side, and the letter of the side."""
        vocabs = {"source": self.parts.source_vocab, "target": self.parts.target_vocab}
        return tuple((self.parts.word_classes[side].of_words(vocabs[side]), side[0]) for side in self._sides)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """All properties: first and last word of each side, for each class."""
        return tuple(
            f"{side[0]}{end}{number}"
            for side in self._sides
            for end in "fl"
            for number in range(self.parts.word_classes[side].number + 1)
        )

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._names)

    def has_property(self, name: str) -> bool:
        """Tell whether a property is of a class that exists."""
        return name in self._known

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return the classes at the edges of each pair."""
        columns, first = [], 0
        for (of_word, letter), side in zip(self._edges, self._sides, strict=True):
            phrases = pairs.source_words if letter == "s" else pairs.words
            for end in (0, 1):
                columns.append(classes_at_end(phrases, of_word, 1 if end else 0) + np.int32(first))
                first += self.parts.word_classes[side].number + 1
        ids = np.stack(columns, axis=1).astype(np.int32)
        offsets = np.arange(len(ids) + 1, dtype=np.int64) * ids.shape[1]
        return FeatureRows(self._names, offsets, ids.reshape(-1), np.ones(ids.size))
