"""Preparation of text for a model, and restoration of translations: Unicode, tokens, case and characters."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.runtime import Runtime
from dragoman.text.compounds import CompoundSplitter
from dragoman.text.segment import Segmentation
from dragoman.text.tokenise import MARKS, Tokeniser, detokenise_lines, is_protected, tokenise_lines
from dragoman.text.words import Units, array_of_lines, characters_of, join_characters, lines_of_array

#: The language whose rules are used where none is named.
DEFAULT_LANGUAGE = "en"

#: Lines that are prepared together; no more are read ahead of those that are asked for.
_LINES_TOGETHER = 16

#: Words after which another sentence may begin.
_ENDS = frozenset(".!?")
_SENTENCE_END = re.compile(r"(?<= [.!?]) ")

#: The share of lines that must begin with a capital letter for translations to do so.
_USUAL = 0.5

#: The least count of a word after another in a form of its own.
_PAIR_SEEN = 2

_EXPECTED = "the case of words"

Seen = TypeVar("Seen", str, tuple[str, str])


@dataclass(frozen=True, eq=False)
class Casing:
    """The usual case of words inside sentences, and whether sentences begin with a capital letter.

    `words` and `forms` are lines of text as bytes: all words in lower case, and their most frequent forms. A line of
    `pairs` is two words in lower case; after the first, the second is mostly written as in `pair_forms`.

    >>> casing = Casing.learn(["He met Ann .", "In May , NASA met Ann .", "They may ."])
    >>> casing.restore(["then ann met nasa . he met zoe .", "3,000 men met ann ."], ["He Zoe", ""])
    ['Then Ann met NASA . He met Zoe .', '3,000 men met Ann .']
    """

    words: NDArray[np.uint8]
    forms: NDArray[np.uint8]
    starts: bool
    pairs: NDArray[np.uint8] = field(default_factory=lambda: array_of_lines([]))
    pair_forms: NDArray[np.uint8] = field(default_factory=lambda: array_of_lines([]))

    @classmethod
    def learn(cls, lines: Sequence[str]) -> Casing:
        """Learn from tokenised text: the most frequent form of each word, not counting those that begin a sentence."""
        learner = CasingLearner()
        learner.add(lines)
        return learner.casing()

    @cached_property
    def _forms(self) -> dict[str, str]:
        return _form_table("words", self.words, "forms", self.forms)

    @cached_property
    def _pair_forms(self) -> dict[str, str]:
        return _form_table("pairs", self.pairs, "pair_forms", self.pair_forms)

    def check(self) -> None:
        """Refuse arrays that are not lines of text, or not equally many."""
        if not all(map(str.strip, self._forms.values())):
            raise DataError("the array 'forms' has an empty line", expected=_EXPECTED)
        for pair, form in self._pair_forms.items():
            if pair.count(" ") != 1 or pair.split(" ")[1] != form.lower() or not form.strip():
                raise DataError(f"the array 'pair_forms' has '{form}' for '{pair}'", expected=_EXPECTED)

    def restore(self, lines: Sequence[str], sources: Sequence[str]) -> list[str]:
        """Give the words of lower-cased lines their case; unknown words have the case that they have in the source.

        The form of a word depends on the word before, then on itself. Addresses have the source's case. If sentences
        begin with a capital letter, the first word of a sentence that has a letter or a digit gets one.
        """
        words = {word for line in lines for word in line.split()}
        protected = {word for word in words if is_protected(word)}
        return [self._restore(line, source, protected) for line, source in zip(lines, sources, strict=True)]

    def _restore(self, line: str, source: str, protected: set[str]) -> str:
        copied = {word.lower(): word for word in source.split() if word != word.lower()}
        known, in_pairs = self._forms, self._pair_forms
        found, begins, before = [], self.starts, ""
        for word in line.split():
            if word in protected:
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
        """Return its arrays by name, for storing."""
        context = {"pairs": self.pairs, "pair_forms": self.pair_forms} if len(self.pairs) else {}
        return {"words": self.words, "forms": self.forms, "starts": np.array([self.starts]), **context}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Casing:
        """Build from what `arrays` returned; older models have no pairs."""
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
    """Learns the case of words from text that comes block by block.

    If there are more than `most_pairs` pairs of words, it forgets the rare ones.
    """

    def __init__(self, most_pairs: int = 1 << 18) -> None:
        self._most_pairs = most_pairs
        self._forms: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._first: set[str] = set()
        self._starts, self._capitals = 0, 0

    def add(self, lines: Sequence[str]) -> None:
        """Count the forms in lines of tokenised text."""
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

    def casing(self) -> Casing:
        """Return the most frequent form of each word, and of words after others, not at the start of a sentence."""
        best = _most_frequent(self._forms, str.lower)
        for first in self._first:  # words that only ever begin sentences: their form elsewhere is unknown
            best.setdefault(first, first)
        best = dict(sorted(best.items()))
        starts = bool(self._starts) and self._capitals >= _USUAL * self._starts
        by_pair = _most_frequent(self._pairs, lambda pair: f"{pair[0]} {pair[1].lower()}")
        other = {
            pair: found[1]
            for pair, found in sorted(by_pair.items())
            if self._pairs[found] >= _PAIR_SEEN and found[1] != best[found[1].lower()]
        }
        return Casing(
            array_of_lines(best),
            array_of_lines(best.values()),
            starts,
            array_of_lines(other),
            array_of_lines(other.values()),
        )

    def _forget(self) -> None:
        """Forget the rarest pairs, until at most half of `most_pairs` are left."""
        rare = 1
        while len(self._pairs) > self._most_pairs // 2:
            self._pairs = Counter({pair: count for pair, count in self._pairs.items() if count > rare})
            rare += 1


def _most_frequent(counts: Counter[Seen], key: Callable[[Seen], str]) -> dict[str, Seen]:
    """Return the most frequent of those that have the same key."""
    return {key(seen): seen for seen, _ in sorted(counts.items(), key=lambda item: (item[1], item[0]))}


def _first_letter_or_digit(text: str) -> int | None:
    return next((i for i, character in enumerate(text) if character.isalnum()), None)


def _check_array(arrays: Mapping[str, NDArray[np.generic]], name: str, dtype: type[np.generic]) -> None:
    if name not in arrays or arrays[name].dtype != dtype or arrays[name].ndim != 1:
        raise DataError(f"the array '{name}' is missing or of the wrong type", expected=_EXPECTED)


def _form_table(keys: str, array: NDArray[np.uint8], values: str, other: NDArray[np.uint8]) -> dict[str, str]:
    found, forms = lines_of_array(keys, array, _EXPECTED), lines_of_array(values, other, _EXPECTED)
    if len(found) != len(forms):
        raise DataError(f"the {keys} and their forms do not fit together", expected=_EXPECTED)
    return dict(zip(found, forms, strict=True))


@dataclass(frozen=True)
class TextPreparation:
    """Turns raw text into the form that a model was trained on, and translations into ordinary text.

    With `nfc`, text is brought into Unicode's composed normal form first, so that é is one letter however it was typed;
    with `normalise_punctuation`, quotation marks, dashes and spaces are made uniform next. With `protect`, URLs,
    numbers and the like are single tokens, and target text has marks where it is joined unusually (see
    `tokenise.py`). Text without spaces between words goes through a segmenter. Last, `compounds` splits those of the
    source text. Where the `units` are characters, these come last, and are joined again first; see `words.py`.

    >>> casing = Casing.learn(["He met Ann ."])
    >>> text = TextPreparation("en", "en", tokenise=True, lowercase=True, casing=casing)
    >>> list(text.source(["A dog's bone."]))
    ["a dog 's bone ."]
    >>> text.restore(["it is ann 's bone ."])
    ["It is Ann's bone."]
    """

    source_language: str | None = None
    target_language: str | None = None
    tokenise: bool = False
    lowercase: bool = False
    nfc: bool = False
    casing: Casing | None = None
    units: Units = "words"
    boundaries: bool = False
    normalise_punctuation: bool = False
    protect: bool = False
    source_segmenter: Segmentation = "none"
    target_segmenter: Segmentation = "none"
    compounds: CompoundSplitter | None = None

    def source(self, lines: Iterable[str], *, runtime: Runtime = Runtime()) -> Iterator[str]:
        """Prepare source text, some lines at a time; at the end, note in how many lines letters had to be composed."""
        return self._prepare(lines, self.source_language, self.source_tokeniser, runtime, self.compounds)

    def target(self, lines: Iterable[str], *, runtime: Runtime = Runtime()) -> Iterator[str]:
        """Prepare target text, such as references, some lines at a time."""
        return self._prepare(lines, self.target_language, self.target_tokeniser, runtime)

    @cached_property
    def source_tokeniser(self) -> Tokeniser:
        """The options that tokenise source text; lower-casing comes after that."""
        return self._tokeniser(self.source_segmenter)

    @cached_property
    def target_tokeniser(self) -> Tokeniser:
        """The options that tokenise target text; lower-casing comes after that."""
        return self._tokeniser(self.target_segmenter, marks=self.protect)

    def restore(self, lines: Sequence[str], sources: Sequence[str] | None = None) -> list[str]:
        """Write translations as ordinary text, as far as the preparation can be undone.

        `sources` are the raw sentences; words that passed through untranslated take their case from them.
        """
        if self.units == "characters":
            lines = [join_characters(line, boundaries=self.boundaries) for line in lines]
        if self.casing is not None:
            raw = [""] * len(lines) if sources is None else self._tokenise_cased(sources)
            lines = self.casing.restore(lines, raw)
        if not self.tokenise:
            return list(lines)
        language = self.target_language or DEFAULT_LANGUAGE
        return detokenise_lines(lines, language, marks=self.protect, unspaced=self.target_segmenter != "none")

    def _tokenise_cased(self, sources: Sequence[str]) -> list[str]:
        if not self.tokenise:
            return list(sources)
        return tokenise_lines(sources, self.source_language or DEFAULT_LANGUAGE, self.source_tokeniser)

    def _tokeniser(self, segmenter: Segmentation, *, marks: bool = False) -> Tokeniser:
        return Tokeniser(
            normalise_punctuation=self.normalise_punctuation,
            protect=self.protect,
            marks=marks and segmenter == "none",
            segmenter=segmenter,
        )

    def _prepare(
        self,
        lines: Iterable[str],
        language: str | None,
        options: Tokeniser,
        runtime: Runtime,
        compounds: CompoundSplitter | None = None,
    ) -> Iterator[str]:
        changed, lines = 0, iter(lines)
        while block := [*islice(lines, _LINES_TOGETHER)]:
            if self.nfc:
                composed = [unicodedata.normalize("NFC", line) for line in block]
                changed += sum(map(operator.ne, composed, block))
                block = composed
            if self.tokenise:
                block = tokenise_lines(block, language or DEFAULT_LANGUAGE, options)
                block = [*map(str.lower, block)] if self.lowercase else block
            if compounds is not None:
                block = compounds.split(block)
            if self.units == "characters":
                block = [characters_of(line, boundaries=self.boundaries) for line in block]
            yield from block
        if changed:
            runtime.note(f"letters were composed (Unicode NFC) in {changed:,} lines, as in the training text")
