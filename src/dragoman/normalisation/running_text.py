"""Running text: words are found in it and changed, and everything between them stays as it is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

_CHUNK = re.compile(r"\S+")


def cut(line: str) -> tuple[list[str], list[str]]:
    """Cut a line into its words and what stands between them, which is one piece more.

    A word is what white space ends, without the punctuation before and behind it; within it, punctuation may stand.

    >>> cut("Vnd (das  sprach=er).")
    (['Vnd', 'das', 'sprach=er'], ['', ' (', '  ', ').'])
    """
    words: list[str] = []
    between = [""]
    at = 0
    for chunk in _CHUNK.finditer(line):
        begin, end = chunk.span()
        while begin < end and _is_punctuation(line[begin]):
            begin += 1
        while end > begin and _is_punctuation(line[end - 1]):
            end -= 1
        if begin < end:
            between[-1] = line[at:begin]
            words.append(line[begin:end])
            between.append("")
            at = end
    between[-1] = line[at:]
    return words, between


def joined(words: Sequence[str], between: Sequence[str]) -> str:
    """Put words back between the pieces that `cut` found."""
    return between[0] + "".join(word + piece for word, piece in zip(words, between[1:], strict=True))


def changed_lines(lines: Sequence[str], change: Callable[[list[list[str]]], Sequence[Sequence[str]]]) -> list[str]:
    """Change the words of lines, all at once, and keep the rest; `change` gets the words of each line."""
    found = [cut(line) for line in lines]
    words = change([words for words, _ in found])
    return [joined(new, between) for new, (_, between) in zip(words, found, strict=True)]


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"
