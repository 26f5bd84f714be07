"""Words of a sentence: separated by spaces, single characters, or in scripts that write no spaces; words as bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError

_WORD = re.compile(r"[^ \t-\r]+")  # ASCII white space separates words, nothing else


def words_of(line: str) -> list[str]:
    """Split a tokenised sentence into its words.

    >>> words_of("la  maison\\u00a0bleue")
    ['la', 'maison\\xa0bleue']
    """
    return _WORD.findall(line)


def array_of_lines(texts: Iterable[str]) -> NDArray[np.uint8]:
    """Write lines of text as an array of bytes, for storing."""
    return np.frombuffer("".join(f"{text}\n" for text in texts).encode(), np.uint8)


def lines_of_array(name: str, array: NDArray[np.uint8], expected: str) -> list[str]:
    """Read the lines of an array of bytes; an error names it."""
    try:
        return bytes(array.data).decode().split("\n")[:-1]
    except UnicodeDecodeError:
        raise DataError(f"the array '{name}' is not UTF-8", expected=expected) from None


Units = Literal["words", "characters"]

#: What stands for a space, and at the beginning and end of a line whose boundaries are marked.
MARK = "▁"

# White space that would cut units apart, and the mark itself, are written as units of their own, so that every line can
# be restored.
_WRITTEN = {" ": MARK, MARK: 2 * MARK, "\t": f"{MARK}t", "\v": f"{MARK}v", "\f": f"{MARK}f", "\r": f"{MARK}r"}
_READ = {written: character for character, written in _WRITTEN.items()}


def characters_of(line: str, *, boundaries: bool = False) -> str:
    """Write the characters of a line as words; with `boundaries`, add a mark before the first and after the last.

    A character is one code point: a model learns the effect of combining marks like everything else.

    >>> characters_of("da ist"), characters_of("da", boundaries=True), characters_of("▁")
    ('d a ▁ i s t', '▁ d a ▁', '▁▁')
    """
    written = " ".join(_WRITTEN.get(character, character) for character in line)
    return f"{MARK} {written} {MARK}" if boundaries and line else written


def join_characters(units: str, *, boundaries: bool = False) -> str:
    """Undo `characters_of`; with `boundaries`, a mark at each end is dropped if it is there.

    >>> join_characters("▁ d a ▁ i s t ▁", boundaries=True), join_characters("▁ d a")
    ('da ist', ' da')
    """
    found = words_of(units)
    if boundaries and found:
        found = found[found[0] == MARK :]
        found = found[: len(found) - (found[-1:] == [MARK])]
    return "".join(_READ.get(unit, unit) for unit in found)


def are_characters(words: Iterable[str]) -> bool:
    """Tell whether all words are characters as `characters_of` writes them.

    >>> are_characters(["a", "▁"]), are_characters(["a", "the"])
    (True, False)
    """
    return all(len(word) == 1 or word in _READ for word in words)


#: Letters of each script, as ranges of a regular expression.
_SCRIPTS = {
    "kana": "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "han": "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "thai": "\u0e00-\u0e7f",
    "lao": "\u0e80-\u0eff",
    "khmer": "\u1780-\u17ff\u19e0-\u19ff",
    "myanmar": "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f",
    "tibetan": "\u0f00-\u0fff",
}
_LANGUAGES = {"thai": "th", "lao": "lo", "khmer": "km", "myanmar": "my", "tibetan": "bo"}
#: The signs that go with them: of Chinese and Japanese, and full-width ones.
_SIGNS = "\u3001-\u303f\uff01-\uff60\uffe0-\uffe6"

#: A class of characters, for regular expressions.
UNSPACED = "".join(_SCRIPTS.values())
_LETTER = re.compile(f"[{UNSPACED}]")
_OF_SCRIPT = {name: re.compile(f"[{ranges}]") for name, ranges in _SCRIPTS.items()}
_UNSPACED = re.compile(f"[{UNSPACED}{_SIGNS}]")

#: The share of letters that must be of such scripts, and the mean length of what spaces separate, for a text to be one
#: without spaces between words. Words of segmented Chinese, Japanese and Thai have 1.5 to 4 characters.
_MOST, _LONG = 0.5, 6.0
#: Of kana among the letters of Japanese; Chinese has none.
_SOME = 0.02


def is_unspaced(character: str) -> bool:
    """Tell whether a character belongs to a script without spaces between words, or is one of its signs."""
    return _UNSPACED.match(character) is not None


def unspaced_language(lines: Sequence[str]) -> str | None:
    """Guess the language of a text without spaces between words by its script; None if the text has spaces.

    >>> unspaced_language(["これは小さな本です。", "猫がいます。"]), unspaced_language(["これ は 本 です 。"])
    ('ja', None)
    >>> unspaced_language(["这是一本小书。"]), unspaced_language(["A small book."])
    ('zh', None)
    """
    text = "\n".join(lines)
    letters = sum(map(str.isalpha, text))
    counts = {name: len(pattern.findall(text)) for name, pattern in _OF_SCRIPT.items()}
    theirs = len(_LETTER.findall(text))
    words = [word for word in text.split() if _LETTER.search(word)]
    # Vowel signs are no letters to Unicode, but characters of their script.
    if not words or theirs < _MOST * max(letters, 1) or sum(map(len, words)) < _LONG * len(words):
        return None
    if counts["kana"] > _SOME * theirs:
        return "ja"
    return max(_LANGUAGES.items(), key=lambda item: counts[item[0]])[1] if counts["han"] < theirs / 2 else "zh"
