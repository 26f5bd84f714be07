"""Long texts into sentences and back: what stood between sentences stays between their translations.

A text is read once from left to right: no expression here looks at a character from more than one place, so that time
grows with the length of a text, whatever stands in it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.text.preparation import DEFAULT_LANGUAGE

#: What may end a sentence: marks, quotes and brackets that close, and white space, if there is some; or a mark that
#: needs none. Runs are taken whole.
_END = re.compile(
    "([.!?…؟।]++[\"'»”’)\\]]*+)([^\\S\\n]++)?|([。！？]++[」』”’）]*+)([^\\S\\n]*+)"  # noqa: RUF001
)
_MARK = re.compile("[.!?…؟।。！？]")  # noqa: RUF001
#: What a sentence begins with, quotes and brackets before it.
_BEGIN = re.compile("[¿¡\"'«„“‘(\\[\\-–—]*+[^\\W_]")  # noqa: RUF001
_SPACE = re.compile("\\s*+")
#: What marks abbreviations that are some before numbers only.
_NUMERIC = "#NUMERIC_ONLY#"
#: What stands before a word, besides white space.
_BEFORE_WORDS = frozenset("\"'«„“‘([")  # noqa: RUF001

#: So many characters are searched in one go.
_STRETCH = 65_536

#: So many pieces are looked at before somebody is asked whether to go on.
_PIECES = 1000


@dataclass(frozen=True)
class Split:
    """A text as sentences, and what stands before the first, between them, and after the last."""

    sentences: tuple[str, ...]
    between: tuple[str, ...]

    def joined(self, sentences: Sequence[str]) -> str:
        """Put others in the place of the sentences.

        >>> split("One.  Two?\\n\\nThree").joined(["Un.", "Deux ?", "Trois"])
        'Un.  Deux ?\\n\\nTrois'
        """
        parts = [self.between[0]]
        for sentence, after in zip(sentences, self.between[1:], strict=True):
            parts += (sentence, after)
        return "".join(parts)


def go_on() -> None:
    """Ask nobody."""


def lines(text: str, check: Callable[[], None] = go_on) -> Split:
    """Take each line for a sentence, as the command line does; empty lines are none.

    >>> lines("One. Two.\\n\\nThree").sentences
    ('One. Two.', 'Three')
    """
    return _cut(text, _lines(text), check)


def split(text: str, language: str | None = None, check: Callable[[], None] = go_on) -> Split:
    """Split a text into sentences: after lines, and after punctuation that ends one, if it seems to be no abbreviation.

    `check` is called now and then, and may raise to end the work.

    >>> split("Dr. Smith sees 3.5 cats. He leaves!").sentences
    ('Dr. Smith sees 3.5 cats.', 'He leaves!')
    """
    return _cut(text, _sentences(text, language), check)


def _cut(text: str, spans: Iterator[tuple[int, int] | None], check: Callable[[], None]) -> Split:
    """The sentences that stand at some places of a text, and what is between them; None is a place without one."""
    sentences: list[str] = []
    between: list[str] = []
    at = 0
    for number, span in enumerate(spans):
        if number % _PIECES == 0:
            check()
        if span is not None:
            begin, end = span
            between.append(text[at:begin])
            sentences.append(text[begin:end])
            at = end
    return Split(tuple(sentences), (*between, text[at:]))


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Where the lines are that are not empty, without white space around them."""
    at = 0
    while True:
        found = _SPACE.match(text, at)
        assert found is not None
        begin = found.end()
        if begin == len(text):
            return
        at = text.find("\n", begin)
        at = len(text) if at < 0 else at
        yield begin, begin + len(text[begin:at].rstrip())


def _sentences(text: str, language: str | None) -> Iterator[tuple[int, int] | None]:
    """Where the sentences are; None for marks that end none."""
    for begin, end in _lines(text):
        for found in _marks(text, begin, end):
            if found is None:
                yield None
                continue
            free = found[3] is not None
            if not free and not _ends(text, begin, end, found, language):
                yield None
                continue
            yield begin, found.end(3 if free else 1)
            begin = found.end()
        if begin < end:
            yield begin, end


def _marks(text: str, begin: int, end: int) -> Iterator[re.Match[str] | None]:
    """What may end sentences of a line; None now and then: while a stretch is searched, no other thread gets on."""
    while begin < end:
        mark = _MARK.search(text, begin, min(end, begin + _STRETCH))
        if mark is None:
            begin += _STRETCH
            yield None
        else:
            found = _END.match(text, mark.start(), end)
            assert found is not None
            yield found
            begin = found.end()


def _ends(text: str, begin: int, end: int, found: re.Match[str], language: str | None) -> bool:
    """Whether punctuation ends a sentence that begins at `begin`, in a line that ends at `end`."""
    if found[2] is None:
        return found.end() == end
    following = _BEGIN.match(text, found.end(), end)
    if following is None:
        return found.end() == end
    if found[1][0] != "." or found[1].startswith(".."):
        return not following[0][-1].islower() or found[1][0] in "!?"
    stem = _last_word(text, begin, found.start())
    numeric = _prefixes(language).get(stem)
    if numeric is not None and (not numeric or following[0][-1].isdigit()):
        return False
    initial = len(stem) == 1 and stem.isupper()
    return not (following[0][-1].islower() or initial or ("." in stem and stem[0].isalpha()))


def _last_word(text: str, begin: int, end: int) -> str:
    """The word that ends at a place, without quotes and brackets before it; empty if there is none."""
    first = end
    while first > begin and not (text[first - 1].isspace() or text[first - 1] in _BEFORE_WORDS):
        first -= 1
    return text[first:end]


@functools.cache
def _prefixes(language: str | None) -> dict[str, bool]:
    """Abbreviations of a language, each with whether it is one before a number only."""
    from sacremoses.corpus import NonbreakingPrefixes  # which takes half a second that a start need not wait for

    words = NonbreakingPrefixes().words(language or DEFAULT_LANGUAGE)
    return {word.removesuffix(_NUMERIC).strip(): word.endswith(_NUMERIC) for word in words}
