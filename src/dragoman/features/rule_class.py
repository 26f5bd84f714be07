"""Copied words: single words, numbers and names; as pairs of the model are counted, or generated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import SPECIAL, UNK, Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays
from dragoman.model.feature_types import CopyFeature, ModelParts, PairsInUse, learnt_array, named_rows

#: The classes, in the order of their bits, and the patterns of their words.
_CLASSES = {
    "identity": r".*",
    "number": r"[+-]?\d+([.,:/-]\d+)*(st|nd|rd|th|er|re|e|ème|\.|%)?",
    "name": r"[A-ZÀ-ÖØ-Þ\u0391-\u03a9\u0401-\u042f][\w.'\u2019-]*",
}


#: Weights that generated pairs begin with: a copy is a last resort, that of a number or name less so.
_START = {"identity": -10.0, "number": -1.0, "name": -1.0}


@dataclass(frozen=True)
class RuleClass(CopyFeature):
    """`rc.number`: pairs and rules that copy numbers; the penalties of Chiang, Marton & Resnik (2008), section 5.1.

    By default, pairs of the model are counted: a phrase pair or rule whose target words are its source words in the
    same order, under `identity` if it is one word, under `number` or `name` if all its words match the pattern. Of a
    rule, only its own words count, not those of its nonterminals.

    With `generate`, pairs that copy a single word are generated, and these alone are counted, each under one class:
    `number` if the word matches the pattern, otherwise `name`, otherwise `identity`. They have no scores, and count
    neither in `rule_penalty` or `phrase_penalty` nor as unknown words; words of no class pass through as unknown words.
    `generate=unknown` is for words that no pair of the model translates alone, `generate=all` for every word, as the
    paper's rules are; a copy then competes with translations. Weights begin with -10 for `identity`, -1 for the others.

    Names are capitalised words. Lower-cased text has none: there, a word that the model does not translate and that
    occurs in the target side of the training text is a name, and words that it translates are none.

    With `rule_penalty` and `glue`, which hierarchical models always have, these are the paper's classes of rules. The
    paper's names and numbers come from translation rules that it does not describe; here they are copies.
    """

    name = "rule-class"
    prefix = "rc"

    classes: str = option("identity+number+name", "classes that are counted, joined by +")
    number_pattern: str | None = option(
        None,
        "regular expression of numbers; without it decimals, dates, times, percentages and ordinals (1st, 2e) match",
    )
    name_pattern: str | None = option(None, "regular expression of names; without it capitalised words match")
    generate: Literal["none", "unknown", "all"] = option(
        "none", "generate pairs that copy a word: none; of words that the model does not translate; or of all words"
    )

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

    @property
    def generates(self) -> bool:
        """True if copies are generated."""
        return self.generate != "none"

    @property
    def start_weights(self) -> dict[str, float]:
        """The weights of generated pairs before they are tuned."""
        return {f"{self.prefix}.{one}": _START[one] for one in self._chosen} if self.generates else {}

    def copy_classes(self, words: Vocab, *, translated: bool) -> NDArray[np.int8]:
        """Return the class of each word that is copied, the first of number, name and identity; -1 if it is not."""
        classes = np.full(len(words), -1, np.int8)
        if translated and self.generate != "all":
            return classes
        known = (words.map_to(self.parts.target_vocab) >= len(SPECIAL)).tolist()
        number, name = (re.compile(pattern, re.DOTALL).fullmatch for pattern in self._patterns[1:])
        chosen, numbers = self._chosen, {one: i for i, one in enumerate(_CLASSES)}
        for i, word in enumerate(words):
            if i < len(SPECIAL):
                continue
            shared = not translated and known[i] and any(map(str.isalpha, word))
            holds = {
                "number": number(word) is not None,
                "name": name(word) is not None if self._has_names else shared,
                "identity": True,
            }
            classes[i] = next((numbers[one] for one in holds if holds[one] and one in chosen), -1)
        return classes

    @cached_property
    def _has_names(self) -> bool:
        """Tell whether names can be told by the pattern: it is given, or words of the model have capitals."""
        matches = re.compile(self._patterns[2], re.DOTALL).fullmatch
        return self.name_pattern is not None or any(map(matches, self.parts.source_vocab))

    def check(self) -> None:
        """Refuse arrays that do not fit the vocabularies of the model."""
        _ = self._words

    def __call__(self, pairs: PairsInUse, /) -> FeatureRows:
        """Return a row for each pair."""
        names = [f"{self.prefix}.{one}" for one in _CLASSES]
        if self.generates:
            rows = np.flatnonzero(pairs.copied >= 0)
            return named_rows(len(pairs.copied), rows, pairs.copied[rows].astype(np.int32), names)
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
        return named_rows(len(source), rows[found], ids.astype(np.int32), names)

    def has(self, rest: str) -> bool:
        """Return True if `rest` is the name of a class that is counted."""
        return rest in self._chosen
