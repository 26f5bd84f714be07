"""Lengths of phrase pairs."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.model.feature_types import PairFeature, PairsInUse, named_rows


@dataclass(frozen=True)
class PhraseLength(PairFeature):
    """`pl.s2t3`: the number of pairs with two source and three target words (compare Moses' phrase length features)."""

    name = "phrase-length"
    prefix = "pl"

    longest: int = option(7, "largest length; longer phrases count as this long", minimum=1, maximum=255)

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return a row for each pair."""
        sides = [np.minimum(phrases.lengths, self.longest) for phrases in (pairs.source_words, pairs.words)]
        base = self.longest + 1
        occurring, ids = np.unique(sides[0] * base + sides[1], return_inverse=True)
        names = [f"{self.prefix}.s{length // base}t{length % base}" for length in occurring.tolist()]
        return named_rows(len(ids), np.arange(len(ids)), ids.astype(np.int32), names)

    def has(self, rest: str) -> bool:
        """Return True if `rest` names two lengths."""
        found = re.fullmatch("s([0-9]+)t([0-9]+)", rest)
        return found is not None and all(int(length) <= self.longest for length in found.groups())
