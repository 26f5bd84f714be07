"""Source words that are left out."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.core.options import option
from dragoman.model.extra_features.unlinked_words import UnlinkedWordFeature


@dataclass(frozen=True)
class WordDeletion(UnlinkedWordFeature):
    """`swd.WORD`: how often a source word without a link is left untranslated inside a phrase."""

    name = "word-deletion"
    prefix = "swd"
    side = "source"

    source_words: int = option(50, "words with a feature of their own, most frequent first; 0 is all", minimum=0)
