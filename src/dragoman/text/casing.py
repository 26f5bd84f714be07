"""Case: how words are written, learnt from text, so that what a model writes in lower case can be given it back."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError

#: Words after which another sentence may begin.
_ENDS = frozenset(".!?")

#: The share of lines that must begin with a capital letter for translations to do so.
_USUAL = 0.5


@dataclass(frozen=True, eq=False)
class Casing:
    """How words are written inside of sentences, and whether sentences begin with a capital letter.

    `words` and `forms` are lines of text as bytes: all words in lower case, and how they are mostly written.

    >>> casing = Casing.learn(["He met Ann .", "In May , NASA met Ann .", "They may ."])
    >>> casing.restore("then ann met nasa . he met zoe .", source="He Zoe")
    'Then Ann met NASA . He met Zoe .'
    >>> casing.restore("ann met he .", source="He")
    'Ann met he .'
    """

    words: NDArray[np.uint8]
    forms: NDArray[np.uint8]
    starts: bool

    @classmethod
    def learn(cls, lines: Sequence[str]) -> Casing:
        """Learn from tokenised text: the most frequent form of each word, where it is not the first of its line."""
        learner = CasingLearner()
        learner.add(lines)
        return learner.learnt()

    @cached_property
    def _forms(self) -> dict[str, str]:
        words, forms = (_decoded(name, array) for name, array in (("words", self.words), ("forms", self.forms)))
        if len(words) != len(forms):
            raise DataError("the words and their forms do not fit together", expected="how words are written")
        return dict(zip(words, forms, strict=True))

    def check(self) -> None:
        """Refuse arrays that are no lines of text, or not as many."""
        if not all(map(str.strip, self._forms.values())):
            raise DataError("the array 'forms' has an empty line", expected="how words are written")

    def restore(self, line: str, source: str = "") -> str:
        """Give the words of a lower-cased line their case; words that are not known have that of the source's."""
        copied = {word.lower(): word for word in source.split() if word != word.lower()}
        known = self._forms
        found, begins = [], self.starts
        for word in line.split():
            form = known.get(word) or copied.get(word, word)
            if begins and _first_letter(form):
                form, begins = form[0].upper() + form[1:], False
            begins = begins or (self.starts and word in _ENDS)
            found.append(form)
        return " ".join(found)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays that make it up, for storing."""
        return {"words": self.words, "forms": self.forms, "starts": np.array([self.starts])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Casing:
        """Build from what `arrays` gave."""
        for name, dtype in (("words", np.uint8), ("forms", np.uint8), ("starts", np.bool_)):
            if name not in arrays or arrays[name].dtype != dtype or arrays[name].ndim != 1:
                raise DataError(f"the array '{name}' is missing or of the wrong type", expected="how words are written")
        if len(arrays["starts"]) != 1:
            raise DataError("the array 'starts' is too long", expected="how words are written")
        return cls(arrays["words"], arrays["forms"], bool(arrays["starts"][0]))  # type: ignore[arg-type]


class CasingLearner:
    """Learns how words are written from text that comes block by block."""

    def __init__(self) -> None:
        self._forms: Counter[str] = Counter()
        self._first: set[str] = set()
        self._starts, self._capitals = 0, 0

    def add(self, lines: Sequence[str]) -> None:
        """Look at some lines of tokenised text."""
        self._forms.update(itertools.chain.from_iterable(line.split(" ")[1:] for line in lines))
        self._first.update(line.split(" ", 1)[0].lower() for line in lines)
        firsts = [letter for line in lines if (letter := _first_letter(line))]
        self._starts += len(firsts)
        self._capitals += sum(letter.isupper() for letter in firsts)

    def learnt(self) -> Casing:
        """The most frequent form of each word, where it is not the first of its line."""
        best: dict[str, str] = {}
        for form, _ in sorted(self._forms.items(), key=lambda item: (item[1], item[0])):
            best[form.lower()] = form
        for first in self._first:  # of words that only ever begin lines nothing is known but that they are words
            best.setdefault(first, first)
        best = dict(sorted(best.items()))
        starts = bool(self._starts) and self._capitals >= _USUAL * self._starts
        return Casing(_lines(best), _lines(best.values()), starts)


def _first_letter(text: str) -> str | None:
    return next((character for character in text if character.isalpha()), None)


def _decoded(name: str, array: NDArray[np.uint8]) -> list[str]:
    try:
        return bytes(array.data).decode().split("\n")[:-1]
    except UnicodeDecodeError:
        raise DataError(f"the array '{name}' is not UTF-8", expected="how words are written") from None


def _lines(texts: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer("".join(f"{text}\n" for text in texts).encode(), np.uint8)
