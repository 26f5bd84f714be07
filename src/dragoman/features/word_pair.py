"""Pairs of linked words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dragoman import kernels
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.features.frequent_words import FrequentWords, frequent_words
from dragoman.model.feature_types import ModelParts, PairFeature, PairsInUse, named_rows, need_links, splits


@dataclass(frozen=True)
class WordPair(PairFeature):
    """`wp.SOURCE~TARGET`: the number of links of two words in a phrase pair, as Moses' word translation features."""

    name = "word-pair"
    prefix = "wp"

    source_words: int = option(50, "number of most frequent source words with features of their own; 0: all", minimum=0)
    target_words: int = option(50, "number of most frequent target words with features of their own; 0: all", minimum=0)

    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Find the frequent words of both sides."""
        need_links(self.name, parts)
        return {
            "source": frequent_words(parts, "source", self.source_words),
            "target": frequent_words(parts, "target", self.target_words),
        }

    @cached_property
    def _classes(self) -> tuple[FrequentWords, FrequentWords]:
        """Classes of source and target words."""
        source, target = (FrequentWords.load(self.parts, self.learnt, side) for side in ("source", "target"))
        return source, target

    def check(self) -> None:
        """Refuse arrays that are not word ids."""
        _ = self._classes

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Count the links of each pair by the classes of their words."""
        links = pairs.links
        row = np.repeat(np.arange(len(links)), links.lengths)
        sources = pairs.source_words.values[pairs.source_words.offsets[row] + (links.values >> 8)]
        targets = pairs.words.values[pairs.words.offsets[row] + (links.values & 255)]
        of_source, of_target = self._classes
        joined = np.stack([of_source.of(sources), of_target.of(targets)], axis=1)
        bounds = np.arange(len(joined) + 1, dtype=np.int64) * 2
        ids, occurring, _ = kernels.intern_sequences(joined.reshape(-1), bounds)
        classes = occurring.reshape(-1, 2)
        words = [side.names(np.ascontiguousarray(classes[:, i])) for i, side in enumerate(self._classes)]
        names = [f"{self.prefix}.{source}~{target}" for source, target in zip(*words, strict=True)]
        return named_rows(len(links), row, ids, names)

    def has(self, rest: str) -> bool:
        """Return True if `rest` joins the names of two classes."""
        sources, targets = (side.all_names for side in self._classes)
        return any(source in sources and target in targets for source, target in splits(rest, "~"))
