"""Target words that come from nowhere."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.core.options import option
from dragoman.core.progress import SILENT, Progress
from dragoman.core.store import Arrays
from dragoman.model.extra_features.feature import ExtraFeature, ModelParts, PairFeature, need_links
from dragoman.model.extra_features.frequent_words import WordClasses, frequent_words
from dragoman.model.extra_features.unlinked_words import UnlinkedWords


@dataclass(frozen=True)
class WordInsertion(ExtraFeature):
    """`twi.WORD`: how often a target word without a link is put in (Chiang, Knight & Wang 2009)."""

    name = "word-insertion"
    prefix = "twi"

    target_words: int = option(50, "words with a feature of their own, most frequent first; 0 is all", minimum=0)

    def learn(self, parts: ModelParts, progress: Progress = SILENT) -> Arrays:
        """Find the frequent words."""
        need_links(self.name, parts.tables)
        return {"target": frequent_words(parts.target_vocab, parts.tables, "target", self.target_words)}

    def ready(self, parts: ModelParts, learnt: Arrays) -> PairFeature:
        """Return the feature."""
        return UnlinkedWords(self.prefix, "target", WordClasses.load(parts.target_vocab, learnt, "target"))
