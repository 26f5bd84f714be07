"""Long texts into sentences and back: what stood between sentences stays between their translations."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.text.preparation import DEFAULT_LANGUAGE

#: The end of a sentence: marks, quotes and brackets that close, and white space; or a mark that needs no space.
_END = re.compile("([.!?…؟।]+[\"'»”’)\\]]*)([^\\S\\n]+)|([。！？]+[」』”’）]*)([^\\S\\n]*)")  # noqa: RUF001
#: What a sentence begins with, quotes and brackets before it.
_BEGIN = re.compile("[¿¡\"'«„“‘(\\[\\-–—]*[^\\W_]")  # noqa: RUF001
#: What marks abbreviations that are some before numbers only.
_NUMERIC = "#NUMERIC_ONLY#"
_LAST_WORD = re.compile("[^\\s\"'«„“‘(\\[]*$")  # noqa: RUF001


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


def lines(text: str) -> Split:
    """Take each line for a sentence, as the command line does; empty lines are none.

    >>> lines("One. Two.\\n\\nThree").sentences
    ('One. Two.', 'Three')
    """
    return _of_parts(re.split("(\n)", text))


def split(text: str, language: str | None = None) -> Split:
    """Split a text into sentences: after lines, and after punctuation that ends one, if it seems to be no abbreviation.

    >>> split("Dr. Smith sees 3.5 cats. He leaves!").sentences
    ('Dr. Smith sees 3.5 cats.', 'He leaves!')
    """
    parts: list[str] = []
    for line in re.split("(\n)", text):
        begin = 0
        for found in _END.finditer(line):
            if found[3] is None and not _ends(line, begin, found, language):
                continue
            parts += (line[begin : found.end(1 if found[3] is None else 3)], found[2] or found[4] or "")
            begin = found.end()
        parts.append(line[begin:])
    return _of_parts(parts)


def _ends(line: str, begin: int, found: re.Match[str], language: str | None) -> bool:
    """Whether punctuation with a space behind it ends a sentence."""
    following = _BEGIN.match(line, found.end())
    if following is None:
        return found.end() == len(line)
    if found[1][0] != "." or found[1].startswith(".."):
        return not following[0][-1].islower() or found[1][0] in "!?"
    word = _LAST_WORD.search(line, begin, found.start())
    stem = word[0] if word else ""
    numeric = _prefixes(language).get(stem)
    if numeric is not None and (not numeric or following[0][-1].isdigit()):
        return False
    initial = len(stem) == 1 and stem.isupper()
    return not (following[0][-1].islower() or initial or ("." in stem and stem[0].isalpha()))


@functools.cache
def _prefixes(language: str | None) -> dict[str, bool]:
    """Abbreviations of a language, each with whether it is one before a number only."""
    from sacremoses.corpus import NonbreakingPrefixes  # which takes half a second that a start need not wait for

    words = NonbreakingPrefixes().words(language or DEFAULT_LANGUAGE)
    return {word.removesuffix(_NUMERIC).strip(): word.endswith(_NUMERIC) for word in words}


def _of_parts(parts: Sequence[str]) -> Split:
    """Sort pieces of a text into sentences and what is between them; white space around a sentence is not its own."""
    sentences: list[str] = []
    between = [""]
    for part in parts:
        core = part.strip()
        if not core:
            between[-1] += part
            continue
        start = part.index(core)
        between[-1] += part[:start]
        sentences.append(core)
        between.append(part[start + len(core) :])
    return Split(tuple(sentences), tuple(between))
