"""Source words that are left out."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.core.options import option
from dragoman.core.progress import SILENT, Progress
from dragoman.core.store import Arrays
from dragoman.model.extra_features.feature import ExtraFeature, ModelParts, PairFeature, need_links
from dragoman.model.extra_features.frequent_words import WordClasses, frequent_words
from dragoman.model.extra_features.unlinked_words import UnlinkedWords


@dataclass(frozen=True)
class WordDeletion(ExtraFeature):
    """`swd.WORD`: how often a source word without a link is left untranslated inside a phrase."""

    name = "word-deletion"
    prefix = "swd"

    source_words: int = option(50, "words with a feature of their own, most frequent first; 0 is all", minimum=0)

    def learn(self, parts: ModelParts, progress: Progress = SILENT) -> Arrays:
        """Find the frequent words."""
        need_links(self.name, parts.tables)
        return {"source": frequent_words(parts.source_vocab, parts.tables, "source", self.source_words)}

    def ready(self, parts: ModelParts, learnt: Arrays) -> PairFeature:
        """Return the feature."""
        return UnlinkedWords(self.prefix, "source", WordClasses.load(parts.source_vocab, learnt, "source"))
