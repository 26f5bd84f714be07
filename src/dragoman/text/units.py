"""What a model's words are: the words of text, or its characters, one a word, with a visible mark for spaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from dragoman.text.words import words_of

Units = Literal["words", "characters"]

#: What stands for a space, and at the beginning and end of a line whose boundaries are marked.
MARK = "▁"

# White space that would cut units apart, and the mark itself, are written as units of their own, so that whatever a
# line holds can be had back.
_WRITTEN = {" ": MARK, MARK: 2 * MARK, "\t": f"{MARK}t", "\v": f"{MARK}v", "\f": f"{MARK}f", "\r": f"{MARK}r"}
_READ = {written: character for character, written in _WRITTEN.items()}


def characters_of(line: str, *, boundaries: bool = False) -> str:
    """Write the characters of a line as words; with `boundaries`, a mark stands before the first and after the last.

    A character is one code point: what a combining mark does to a letter, a model learns as it learns the rest.

    >>> characters_of("da ist"), characters_of("da", boundaries=True), characters_of("▁")
    ('d a ▁ i s t', '▁ d a ▁', '▁▁')
    """
    written = " ".join(_WRITTEN.get(character, character) for character in line)
    return f"{MARK} {written} {MARK}" if boundaries and line else written


def joined_characters(units: str, *, boundaries: bool = False) -> str:
    """Undo what `characters_of` does; of a line with boundaries, one mark at each end is dropped if it is there.

    >>> joined_characters("▁ d a ▁ i s t ▁", boundaries=True), joined_characters("▁ d a")
    ('da ist', ' da')
    """
    found = words_of(units)
    if boundaries and found:
        found = found[found[0] == MARK :]
        found = found[: len(found) - (found[-1:] == [MARK])]
    return "".join(_READ.get(unit, unit) for unit in found)


def are_characters(words: Iterable[str]) -> bool:
    """Whether all words are such as `characters_of` writes.

    >>> are_characters(["a", "▁"]), are_characters(["a", "the"])
    (True, False)
    """
    return all(len(word) == 1 or word in _READ for word in words)
