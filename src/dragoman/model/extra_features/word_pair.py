"""Which word became which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.model.extra_features.feature import (
    ExtraFeature,
    ModelParts,
    PairFeature,
    PairsInUse,
    named_rows,
    need_links,
    splits,
)
from dragoman.model.extra_features.frequent_words import WordClasses, frequent_words


@dataclass(frozen=True)
class WordPair(ExtraFeature):
    """`wp.SOURCE~TARGET`: how often two words are linked inside a phrase pair, as Moses' word translation features."""

    name = "word-pair"
    prefix = "wp"

    source_words: int = option(50, "source words that count one by one, most frequent first; 0 is all", minimum=0)
    target_words: int = option(50, "target words that count one by one, most frequent first; 0 is all", minimum=0)

    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Find the frequent words of both sides."""
        need_links(self.name, parts)
        return {
            "source": frequent_words(parts, "source", self.source_words),
            "target": frequent_words(parts, "target", self.target_words),
        }

    def ready(self, parts: ModelParts, learnt: Arrays) -> PairFeature:
        """Return the feature."""
        source = WordClasses.load(parts, learnt, "source")
        return LinkedWords(self.prefix, source, WordClasses.load(parts, learnt, "target"))


@dataclass(frozen=True, eq=False)
class LinkedWords(PairFeature):
    """Counts the links of each pair by the classes of the words they join."""

    prefix: str
    source: WordClasses
    target: WordClasses

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return a row for each pair."""
        links = pairs.links
        row = np.repeat(np.arange(len(links)), links.lengths)
        sources = pairs.source_words.values[pairs.source_words.offsets[row] + (links.values >> 8)]
        targets = pairs.words.values[pairs.words.offsets[row] + (links.values & 255)]
        joined = np.stack([self.source.of(sources), self.target.of(targets)], axis=1)
        bounds = np.arange(len(joined) + 1, dtype=np.int64) * 2
        ids, occurring, _ = kernels.intern_sequences(joined.reshape(-1), bounds)
        classes = occurring.reshape(-1, 2)
        words = [side.names(np.ascontiguousarray(classes[:, i])) for i, side in enumerate((self.source, self.target))]
        names = [f"{self.prefix}.{source}~{target}" for source, target in zip(*words, strict=True)]
        return named_rows(len(links), row, ids, names)

    def has(self, rest: str) -> bool:
        """Whether `rest` joins the names of two classes."""
        sources, targets = self.source.all_names, self.target.all_names
        return any(source in sources and target in targets for source, target in splits(rest, "~"))
