"""Orientations of phrases by the word classes at their edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.model.feature_types import OrientationFeature, PairsInUse, classes_at_end


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
    def class_sides(self) -> tuple[str, ...]:
        """The sides whose edges are looked at."""
        return ("source", "target") if self.sides == "both" else (self.sides,)

    @cached_property
    def _classes(self) -> dict[str, NDArray[np.int32]]:
        """The class of each word of the model, by side."""
        vocabs = {"source": self.parts.source_vocab, "target": self.parts.target_vocab}
        return {side: self.parts.word_classes[side].of_words(vocabs[side]) for side in self.class_sides}

    @cached_property
    def _names(self) -> dict[str, int]:
        """All properties, numbered: first and last word of each side, for each class."""
        every = (
            f"{side[0]}{end}{its}"
            for side in self.class_sides
            for end in "fl"
            for its in range(self.parts.word_classes[side].number + 1)
        )
        return {name: i for i, name in enumerate(every)}

    def has_property(self, name: str) -> bool:
        """Tell whether a property is of a class that exists."""
        return name in self._names

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return the classes at the edges of each pair."""
        columns = []
        for side, of_word in self._classes.items():
            phrases = pairs.source_words if side == "source" else pairs.words
            for end, letter in ((0, "f"), (1, "l")):
                columns.append(self._names[f"{side[0]}{letter}0"] + classes_at_end(phrases, of_word, end))
        ids = np.stack(columns, axis=1).astype(np.int32)
        offsets = np.arange(len(ids) + 1, dtype=np.int64) * ids.shape[1]
        return FeatureRows(tuple(self._names), offsets, ids.reshape(-1), np.ones(ids.size))
