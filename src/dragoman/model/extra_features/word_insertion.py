"""Target words that come from nowhere."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.core.options import option
from dragoman.model.extra_features.unlinked_words import UnlinkedWordFeature


@dataclass(frozen=True)
class WordInsertion(UnlinkedWordFeature):
    """`twi.WORD`: how often a target word without a link is put in (Chiang, Knight & Wang 2009)."""

    name = "word-insertion"
    prefix = "twi"
    side = "target"

    target_words: int = option(50, "words with a feature of their own, most frequent first; 0 is all", minimum=0)
