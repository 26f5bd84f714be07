"""Case: how words are written, learnt from text, so that what a model writes in lower case can be given it back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.text.detokenise import MARKS
from dragoman.text.normalise import is_protected

#: Words after which another sentence may begin.
_ENDS = frozenset(".!?")
_SENTENCE_END = re.compile(r"(?<= [.!?]) ")

#: The share of lines that must begin with a capital letter for translations to do so.
_USUAL = 0.5

#: How often a word must have been seen behind another with a form of its own.
_PAIR_SEEN = 2

_EXPECTED = "how words are written"

Seen = TypeVar("Seen", str, tuple[str, str])


@dataclass(frozen=True, eq=False)
class Casing:
    """How words are written inside of sentences, and whether sentences begin with a capital letter.

    `words` and `forms` are lines of text as bytes: all words in lower case, and how they are mostly written. A line of
    `pairs` is two words in lower case, the second of which is mostly written otherwise behind the first: as in
    `pair_forms`.

    >>> casing = Casing.learn(["He met Ann .", "In May , NASA met Ann .", "They may ."])
    >>> casing.restore("then ann met nasa . he met zoe .", source="He Zoe")
    'Then Ann met NASA . He met Zoe .'
    >>> casing.restore("3,000 men met ann .")
    '3,000 men met Ann .'
    """

    words: NDArray[np.uint8]
    forms: NDArray[np.uint8]
    starts: bool
    pairs: NDArray[np.uint8] = field(default_factory=lambda: _lines([]))
    pair_forms: NDArray[np.uint8] = field(default_factory=lambda: _lines([]))

    @classmethod
    def learn(cls, lines: Sequence[str]) -> Casing:
        """Learn from tokenised text: the most frequent form of each word, where no sentence begins with it."""
        learner = CasingLearner()
        learner.add(lines)
        return learner.learnt()

    @cached_property
    def _forms(self) -> dict[str, str]:
        return _table("words", self.words, "forms", self.forms)

    @cached_property
    def _pair_forms(self) -> dict[str, str]:
        return _table("pairs", self.pairs, "pair_forms", self.pair_forms)

    def check(self) -> None:
        """Refuse arrays that are no lines of text, or not as many."""
        if not all(map(str.strip, self._forms.values())):
            raise DataError("the array 'forms' has an empty line", expected=_EXPECTED)
        for pair, form in self._pair_forms.items():
            if pair.count(" ") != 1 or pair.split(" ")[1] != form.lower() or not form.strip():
                raise DataError(f"the array 'pair_forms' has '{form}' for '{pair}'", expected=_EXPECTED)

    def restore(self, line: str, source: str = "") -> str:
        """Give the words of a lower-cased line their case; words that are not known have that of the source's.

        What a word looks like depends on the word before, then on itself. Addresses have the source's case. The first
        word of a sentence gets a capital letter, if sentences have one: the first with a letter or a digit.
        """
        copied = {word.lower(): word for word in source.split() if word != word.lower()}
        known, in_pairs = self._forms, self._pair_forms
        found, begins, before = [], self.starts, ""
        for word in line.split():
            if is_protected(word):
                form, begins = copied.get(word) or known.get(word, word), False
            else:
                form = in_pairs.get(f"{before} {word}") or known.get(word) or copied.get(word, word)
                if begins and (first := _first_letter_or_digit(form)) is not None:
                    form, begins = form[:first] + form[first].title() + form[first + 1 :], False
                begins = begins or (self.starts and word.strip(MARKS) in _ENDS)
            found.append(form)
            before = word
        return " ".join(found)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays that make it up, for storing."""
        context = {"pairs": self.pairs, "pair_forms": self.pair_forms} if len(self.pairs) else {}
        return {"words": self.words, "forms": self.forms, "starts": np.array([self.starts]), **context}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Casing:
        """Build from what `arrays` gave; models that know nothing of pairs have none."""
        for name, dtype in (("words", np.uint8), ("forms", np.uint8), ("starts", np.bool_)):
            _check_array(arrays, name, dtype)
        if len(arrays["starts"]) != 1:
            raise DataError("the array 'starts' is too long", expected=_EXPECTED)
        context = [name for name in ("pairs", "pair_forms") if "pairs" in arrays or "pair_forms" in arrays]
        for name in context:
            _check_array(arrays, name, np.uint8)
        pairs = [arrays[name] for name in context]
        return cls(arrays["words"], arrays["forms"], bool(arrays["starts"][0]), *pairs)  # type: ignore[arg-type]


class CasingLearner:
    """Learns how words are written from text that comes block by block.

    Of more than `most_pairs` pairs of words, the rare ones are forgotten.
    """

    def __init__(self, most_pairs: int = 1 << 18) -> None:
        self._most_pairs = most_pairs
        self._forms: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._first: set[str] = set()
        self._starts, self._capitals = 0, 0

    def add(self, lines: Sequence[str]) -> None:
        """Look at some lines of tokenised text."""
        for line in lines:
            for sentence in _SENTENCE_END.split(line):
                words, lower = sentence.split(" "), sentence.lower().split(" ")
                first = next((i for i, word in enumerate(words) if _first_letter_or_digit(word) is not None), 0)
                self._forms.update(words[:first])
                self._forms.update(words[first + 1 :])
                self._pairs.update(zip(lower[first:], words[first + 1 :], strict=False))
                self._first.add(lower[first])
            if len(self._pairs) > self._most_pairs:
                self._forget()
        firsts = [letter for line in lines if (letter := next(filter(str.isalpha, line), None))]
        self._starts += len(firsts)
        self._capitals += sum(letter.isupper() for letter in firsts)

    def learnt(self) -> Casing:
        """The most frequent form of each word, and of words behind others, where no sentence begins with it."""
        best = _most_frequent(self._forms, str.lower)
        for first in self._first:  # of words that only ever begin sentences nothing is known but that they are words
            best.setdefault(first, first)
        best = dict(sorted(best.items()))
        starts = bool(self._starts) and self._capitals >= _USUAL * self._starts
        by_pair = _most_frequent(self._pairs, lambda pair: f"{pair[0]} {pair[1].lower()}")
        other = {
            pair: found[1]
            for pair, found in sorted(by_pair.items())
            if self._pairs[found] >= _PAIR_SEEN and found[1] != best[found[1].lower()]
        }
        return Casing(_lines(best), _lines(best.values()), starts, _lines(other), _lines(other.values()))

    def _forget(self) -> None:
        """Forget the rarest pairs, until half of what may be counted is left."""
        rare = 1
        while len(self._pairs) > self._most_pairs // 2:
            self._pairs = Counter({pair: count for pair, count in self._pairs.items() if count > rare})
            rare += 1


def _most_frequent(counts: Counter[Seen], key: Callable[[Seen], str]) -> dict[str, Seen]:
    """The most frequent of those that have the same key."""
    return {key(seen): seen for seen, _ in sorted(counts.items(), key=lambda item: (item[1], item[0]))}


def _first_letter_or_digit(text: str) -> int | None:
    return next((i for i, character in enumerate(text) if character.isalnum()), None)


def _check_array(arrays: Mapping[str, NDArray[np.generic]], name: str, dtype: type[np.generic]) -> None:
    if name not in arrays or arrays[name].dtype != dtype or arrays[name].ndim != 1:
        raise DataError(f"the array '{name}' is missing or of the wrong type", expected=_EXPECTED)


def _table(keys: str, array: NDArray[np.uint8], values: str, other: NDArray[np.uint8]) -> dict[str, str]:
    found, forms = _decoded(keys, array), _decoded(values, other)
    if len(found) != len(forms):
        raise DataError(f"the {keys} and their forms do not fit together", expected=_EXPECTED)
    return dict(zip(found, forms, strict=True))


def _decoded(name: str, array: NDArray[np.uint8]) -> list[str]:
    try:
        return bytes(array.data).decode().split("\n")[:-1]
    except UnicodeDecodeError:
        raise DataError(f"the array '{name}' is not UTF-8", expected=_EXPECTED) from None


def _lines(texts: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer("".join(f"{text}\n" for text in texts).encode(), np.uint8)
