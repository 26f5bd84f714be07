"""Compounds: words of a source text that are split into other words of it, after Koehn & Knight (2003).

A compound is split where the geometric mean of its parts' counts exceeds its own count. Parts are words of the training
text: long enough, not too rare, and not so frequent that they are function words. Between parts there may be a filler,
such as the *s* of *Verkehrszeichen*; fillers are those that the text shows. Hyphenated words are split if all their
parts are known.

Departures from the paper: function words are recognised by their frequency instead of a tagger, fillers are learnt
instead of listed, and the translations of the parts are not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.text.words import array_of_lines, lines_of_array, words_of

#: The least number of letters of a word, and of a part; words beyond the longest one are left whole.
_SHORTEST_WORD, _SHORTEST_PART, _LONGEST_WORD = 2, 4, 60

#: The least count of a part, and the share of running words above which a word is a function word.
_RAREST_PART, _FUNCTION_WORD = 3, 1e-3

#: The most parts of a compound.
_MOST_PARTS = 4

#: A filler occurs in at least this number of words, and in this share of the number that can be split without one.
_FILLED_WORDS, _FILLED_SHARE = 10, 0.02

#: In languages with compounds, more than this share of the words in a text can be split in two: 6 to 18 % in German,
#: at most 4 % in English and French.
_USUAL_SHARE = 0.05

#: The most words whose split is remembered.
_REMEMBERED = 1 << 18

_EXPECTED = "counts of words"


@dataclass(frozen=True, eq=False)
class CompoundSplitter:
    """Splits compounds by the counts of words in the training text.

    `forms` has the most frequent form of each word, sorted by their lower case, `counts` how often each was seen in any
    case, and `fillers` what may stand between parts. All but the counts are lines of text as bytes.

    >>> text = Counter({"das": 50000, "auto": 40, "bahn": 9, "autobahn": 2, "polizei": 8, "autopolizei": 30})
    >>> splitter = CompoundSplitter.learn(text)
    >>> splitter.split(["die autobahnpolizei", "autopolizei"])
    ['die auto bahn polizei', 'autopolizei']
    """

    forms: NDArray[np.uint8]
    counts: NDArray[np.int64]
    fillers: NDArray[np.uint8]
    running_words: int

    @classmethod
    def learn(cls, counts: Mapping[str, int]) -> CompoundSplitter:
        """Learn from the words of a text and their counts."""
        return cls.without_fillers(counts).with_fillers()

    @classmethod
    def without_fillers(cls, counts: Mapping[str, int]) -> CompoundSplitter:
        """Learn from the words of a text and their counts, but no fillers: they do not matter for `has_many`."""
        lower: Counter[str] = Counter()
        best: dict[str, tuple[int, str]] = {}
        for word, count in counts.items():
            key = word.lower()
            lower[key] += count
            best[key] = max(best.get(key, (0, "")), (count, word))
        words = sorted(word for word in lower if _is_word(word))
        forms, seen = [best[word][1] for word in words], [lower[word] for word in words]
        return cls(array_of_lines(forms), np.array(seen, np.int64), array_of_lines([]), sum(lower.values()))

    def with_fillers(self) -> CompoundSplitter:
        """Learn the strings of one or two letters between the parts of many words that cannot be split without them."""
        found = Counter(
            filler for word in self._whole for filler in {*self._fillers_of(word, 1), *self._fillers_of(word, 2)}
        )
        least = max(_FILLED_WORDS, _FILLED_SHARE * (len(self._seen) - len(self._whole)))
        return replace(self, fillers=array_of_lines(sorted(filler for filler in found if found[filler] >= least)))

    @property
    def share(self) -> float:
        """The share of the words that can be split in two, without a filler."""
        return 1 - len(self._whole) / len(self._seen) if self._seen else 0.0

    @property
    def has_many(self) -> bool:
        """True if the share of compounds is that of a language with compounds."""
        return self.share > _USUAL_SHARE

    def split(self, lines: Iterable[str]) -> list[str]:
        """Split the compounds in lines of words."""
        known = self._known
        if len(known) > _REMEMBERED:
            known.clear()
        found = []
        for line in lines:
            words = words_of(line)
            for word in words:
                if word not in known:
                    known[word] = self._split(word)
            found.append(" ".join([known[word] for word in words]))
        return found

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return its arrays by name, for storing."""
        running = np.array([self.running_words])
        return {"forms": self.forms, "counts": self.counts, "fillers": self.fillers, "running_words": running}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> CompoundSplitter:
        """Build from what `arrays` returned."""
        dtypes = {"forms": np.uint8, "counts": np.int64, "fillers": np.uint8, "running_words": np.int64}
        for name, dtype in dtypes.items():
            if name not in arrays or arrays[name].dtype != dtype or arrays[name].ndim != 1:
                raise DataError(f"the array '{name}' is missing or of the wrong type", expected=_EXPECTED)
        if len(arrays["running_words"]) != 1:
            raise DataError("the array 'running_words' is not one number", expected=_EXPECTED)
        return cls(arrays["forms"], arrays["counts"], arrays["fillers"], int(arrays["running_words"][0]))

    def check(self) -> None:
        """Refuse arrays that are not words with counts."""
        forms = lines_of_array("forms", self.forms, _EXPECTED)
        if len(forms) != len(self.counts) or len(self._seen) != len(forms):
            raise DataError("the words and their counts do not fit together", expected=_EXPECTED)
        if not all(map(_is_word, self._seen)):
            raise DataError("the array 'forms' has something that is no word", expected=_EXPECTED)
        if (self.counts < 1).any():
            raise DataError("the array 'counts' has a word that does not occur", expected=_EXPECTED)
        if any(not filler.isalpha() for filler in self._fillers[1:]):
            raise DataError("the array 'fillers' has something that is no filler", expected="letters")

    @cached_property
    def _known(self) -> dict[str, str]:
        """The words that have been looked at, and what became of them."""
        return {}

    @cached_property
    def _seen(self) -> dict[str, int]:
        forms = lines_of_array("forms", self.forms, _EXPECTED)
        return {form.lower(): count for form, count in zip(forms, self.counts.tolist(), strict=False)}

    @cached_property
    def _parts(self) -> dict[str, tuple[float, str]]:
        """The possible parts in lower case: the logarithm of each count, and the form to write."""
        forms = lines_of_array("forms", self.forms, _EXPECTED)
        most = max(self.running_words * _FUNCTION_WORD, _RAREST_PART)
        counted = zip(forms, self.counts.tolist(), strict=True)
        return {form.lower(): (log(count), form) for form, count in counted if _RAREST_PART <= count <= most}

    @cached_property
    def _fillers(self) -> list[str]:
        return ["", *lines_of_array("fillers", self.fillers, _EXPECTED)]

    @cached_property
    def _whole(self) -> list[str]:
        """The words that cannot be split in two without a filler."""
        return [word for word in self._seen if next(self._fillers_of(word, 0), None) is None]

    def _fillers_of(self, word: str, letters: int) -> Iterator[str]:
        """Yield each filler of this many letters between two parts, if the word is rarer than its parts."""
        own, parts = log(self._seen[word]), self._parts
        for end in range(_SHORTEST_PART, len(word) - letters - _SHORTEST_PART + 1):
            first = parts.get(word[:end])
            if first is None:
                continue
            second = parts.get(word[end + letters :])
            if second is not None and (first[0] + second[0]) / 2 > own:
                yield word[end : end + letters]

    def _split(self, word: str) -> str:
        """Split one word, at its hyphens or between its letters."""
        if "-" in word.strip("-"):
            pieces = [piece for piece in word.split("-") if piece]
            known = all(piece.lower() in self._seen or " " in self._split(piece) for piece in pieces)
            return " ".join(map(self._split, pieces)) if known else word
        if not 2 * _SHORTEST_PART <= len(word) <= _LONGEST_WORD or not word.isalpha():
            return word
        return " ".join(self._best(word.lower())) or word

    def _best(self, word: str) -> tuple[str, ...]:
        """Return the parts of the best split, in their most frequent forms; none if the word is best left whole."""
        # reached[n][end]: the best sum of logarithms of n parts that cover word[:end], and the parts.
        reached: list[dict[int, tuple[float, tuple[str, ...]]]] = [{0: (0.0, ())}]
        best_mean = log(self._seen[word]) if word in self._seen else -1.0
        best: tuple[str, ...] = ()
        for _ in range(_MOST_PARTS):
            further: dict[int, tuple[float, tuple[str, ...]]] = {}
            for covered, (total, before) in reached[-1].items():
                for filler in self._fillers if covered else [""]:
                    begin = covered + len(filler)
                    if not word.startswith(filler, covered):
                        continue
                    for end in range(begin + _SHORTEST_PART, len(word) + 1):
                        part = self._parts.get(word[begin:end]) if end - begin < len(word) else None
                        if part is None:
                            continue
                        found = (total + part[0], (*before, part[1]))
                        further[end] = max(further.get(end, found), found)
            reached.append(further)
            if len(word) in further:
                total, parts = further[len(word)]
                mean = total / len(parts)
                if mean > best_mean:
                    best_mean, best = mean, parts
        return best


def _is_word(word: str) -> bool:
    """Tell whether a word can be a part of a compound, or one, by its letters."""
    return word.isalpha() and _SHORTEST_WORD <= len(word) <= _LONGEST_WORD
