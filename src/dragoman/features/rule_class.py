"""Copied words: single words, numbers and names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import SPECIAL, UNK
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.model.feature_types import ModelParts, PairFeature, PairsInUse, learnt_array, named_rows

#: The classes, in the order of their bits, and the patterns of their words.
_CLASSES = {
    "identity": r".*",
    "number": r"[+-]?\d+([.,:/-]\d+)*(st|nd|rd|th|er|re|e|ème|\.|%)?",
    "name": r"[A-ZÀ-ÖØ-Þ\u0391-\u03a9\u0401-\u042f][\w.'\u2019-]*",
}


@dataclass(frozen=True)
class RuleClass(PairFeature):
    """`rc.number`: pairs and rules that copy numbers; the penalties of Chiang, Marton & Resnik (2008), section 5.1.

    A phrase pair or rule is counted if its target words are its source words in the same order: under `identity` if it
    is one word, under `number` or `name` if all its words match the pattern. Of a rule, only its own words count, not
    those of its nonterminals. The paper's penalties of all rules and of glue are the features `rule_penalty` and `glue`
    that hierarchical models always have, and unknown words are counted by `unknown_word`.
    """

    name = "rule-class"
    prefix = "rc"

    classes: str = option("identity+number+name", "classes that are counted, joined by +")
    number_pattern: str | None = option(
        None,
        "regular expression of numbers; without it decimals, dates, times, percentages and ordinals (1st, 2e) match",
    )
    name_pattern: str | None = option(None, "regular expression of names; without it capitalised words match")

    def __post_init__(self) -> None:
        super().__post_init__()
        for one in self._chosen:
            if one not in _CLASSES:
                raise UsageError(f"classes has '{one}'; expected some of {'+'.join(_CLASSES)}")
        for pattern in self._patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(f"the pattern '{pattern}' is no regular expression: {error}") from None

    @property
    def _chosen(self) -> list[str]:
        return self.classes.split("+")

    @property
    def _patterns(self) -> tuple[str, ...]:
        """Patterns of the words of each class."""
        given = None, self.number_pattern, self.name_pattern
        return tuple(other if one is None else one for one, other in zip(given, _CLASSES.values(), strict=True))

    def learn(self, parts: ModelParts, *, runtime: Runtime = Runtime()) -> Arrays:
        """Find the target id of each source word, and its classes."""
        copies = parts.source_vocab.map_to(parts.target_vocab).astype(np.int32)
        copies[: len(SPECIAL)] = UNK
        classes = np.zeros(len(copies), np.uint8)
        words = list(parts.source_vocab)
        for bit, (one, pattern) in enumerate(zip(_CLASSES, self._patterns, strict=True)):
            if one in self._chosen:
                matches = re.compile(pattern, re.DOTALL).fullmatch
                for word in np.flatnonzero(copies != UNK).tolist():
                    classes[word] |= (matches(words[word]) is not None) << bit
        return {"copies": copies, "classes": classes}

    @cached_property
    def _words(self) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Target ids of source words, and the bits of their classes."""
        copies = learnt_array(self.learnt, "copies", np.int32, below=len(self.parts.target_vocab))
        classes = learnt_array(self.learnt, "classes", np.uint8, below=1 << len(_CLASSES))
        if not len(copies) == len(classes) == len(self.parts.source_vocab):
            raise DataError("the arrays of copied words do not fit together", expected="what the feature had learnt")
        return copies, classes

    def check(self) -> None:
        """Refuse arrays that do not fit the vocabularies of the model."""
        _ = self._words

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return a row for each pair."""
        copies, classes = self._words
        source, target = pairs.source_words, pairs.words
        rows = np.flatnonzero((source.lengths == target.lengths) & (source.lengths > 0))
        bits = np.where(source.lengths[rows] == 1, 0xFF, 0xFE).astype(np.uint8)
        place = 0
        # Most pairs are ruled out by their first word.
        while np.any(more := source.lengths[rows] > place):
            words = source.values[source.offsets[rows[more]] + place]
            same = (words != UNK) & (copies[words] == target.values[target.offsets[rows[more]] + place])
            bits[more] &= np.where(same, classes[words], 0).astype(np.uint8)
            rows, bits = rows[bits > 0], bits[bits > 0]
            place += 1
        found, ids = np.nonzero((bits[:, None] >> np.arange(len(_CLASSES), dtype=np.uint8)) & 1)
        names = [f"{self.prefix}.{one}" for one in _CLASSES]
        return named_rows(len(source), rows[found], ids.astype(np.int32), names)

    def has(self, rest: str) -> bool:
        """Return True if `rest` is the name of a class that is counted."""
        return rest in self._chosen
