"""Uniform punctuation: one kind of apostrophe, quotation mark, dash and space, whatever people typed."""

from __future__ import annotations

import functools
import re

#: Languages that write full-width signs and have quotation marks of their own.
_FULL_WIDTH = frozenset({"ja", "ko", "yue", "zh"})

_SPACES = dict.fromkeys(["\u00a0", "\u1680", *map(chr, range(0x2000, 0x200B)), "\u202f", "\u205f", "\u3000"], " ")
# Joiners (U+200C, U+200D) stay: in some scripts they change what is read.
_INVISIBLE = dict.fromkeys("\u00ad\u200b\u200e\u200f\u2060\ufeff", "")
_SIGNS = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc`\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    "\u2026": "...",
}
_ASCII = {chr(0xFF01 + i): chr(0x21 + i) for i in range(94)}

# White space has been made single spaces before. A dash between words becomes one with spaces around it; between digits
# it is a range, and an en dash that touches words on both sides a hyphen of compounds: these stay.
_DASH = re.compile(r"((?<=\d)[\u2014\u2015](?=\d))| ?[\u2014\u2015]+ ?| \u2013+ ?|\u2013+ ")
_TWO_STROKES = re.compile(r"(?<!')''(?!')")


def normalise_punctuation(line: str, language: str) -> str:
    """Write a line with uniform punctuation and single spaces; takes time proportional to its length.

    Guillemets stay, and so do the signs of languages that write full-width ones.

    >>> normalise_punctuation("It\\u2019s a \\u201cgreat\\u201d day, isn\\u2019t it\\u2026", "en")
    'It\\'s a "great" day, isn\\'t it...'
    """
    line = " ".join(line.translate(_table(language in _FULL_WIDTH)).split())
    if language not in _FULL_WIDTH and "''" in line:
        line = _TWO_STROKES.sub('"', line)
    if line.isascii():
        return line
    return " ".join(_DASH.sub(lambda found: "\u2013" if found[1] else " \u2013 ", line).split())


@functools.cache
def _table(full_width: bool) -> dict[int, str]:
    signs = _SPACES | _INVISIBLE
    return str.maketrans(signs if full_width else signs | _SIGNS | _ASCII)
