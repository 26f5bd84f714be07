"""Make punctuation uniform, and find what tokenisers must leave whole: URLs, numbers, file and user names."""

from __future__ import annotations

import functools
import re

from dragoman.text.words import UNSPACED

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


#: Letters and digits of scripts with spaces between words: no number or address goes on into other scripts.
_SPACED = rf"[^\W{UNSPACED}]"
#: What is in no URL: brackets and quotation marks around it, and what follows it in a text without spaces.
_OUTSIDE = rf"\s<>\"\u00ab\u00bb\u201c\u201d\u3000-\u303f\uff00-\uffef{UNSPACED}"

# Each alternative begins where a run of its characters does and reads it once, so that time is proportional to length.
_PROTECTED = re.compile(
    rf"""
    (?<!{_SPACED}) (?: [A-Za-z][A-Za-z0-9+.-]{{1,15}}:// | www\. )
                [^{_OUTSIDE}]* [^{_OUTSIDE}.,;:!?)\]}}'\u2019*_|]                       # a URL
  | (?<![A-Za-z0-9_.+-]) [A-Za-z0-9_+-][A-Za-z0-9_.+-]* @ [A-Za-z0-9-]+ (?: \.[A-Za-z0-9-]+ )+  # an e-mail address
  | (?<!{_SPACED}) (?<![.,:/]) \d+ (?: [.,:/] \d+ )+ {_SPACED}*                         # 3,000.50 10:30 1/2
  | (?<![A-Za-z0-9./~-]) [A-Za-z0-9-]+ (?: \.[A-Za-z0-9-]+ )+
                (?: / [A-Za-z0-9_.%~+-]* [A-Za-z0-9_/] )+                               # example.org/x
  | (?<![\w./]) [~.]{{0,2}} (?: / [\w.+-]* \w ){{2,}} /?                                # /usr/share/doc
  | (?<![\w&]) [\#@] \w [\w-]*                                                          # #tag @name
  | (?<![\w-]) (?!_) \w+ _ \w+ (?: \. \w+ )*                                            # file_name.txt
  | \.{{2,}}                                                                            # dots
    """,
    re.VERBOSE,
)

# What one of these can begin with or have inside; most words have none of them.
_POSSIBLE = re.compile(r"[/@#_]|\d[.,:]\d|www\.|\.\.")


def protected_spans(line: str) -> list[tuple[int, int]]:
    """Where the pieces are that stay whole, from left to right.

    >>> [line[a:b] for line in ["See http://example.org/x?y=1, or 3,000.50 of them."] for a, b in protected_spans(line)]
    ['http://example.org/x?y=1', '3,000.50']
    """
    if not _POSSIBLE.search(line):
        return []
    return [found.span() for found in _PROTECTED.finditer(line)]


def is_protected(word: str) -> bool:
    """Whether a word is an address, name or tag, whose case means something.

    >>> is_protected("example.org/Path"), is_protected("and/or"), is_protected("3,000")
    (True, False, True)
    """
    return protected_spans(word) == [(0, len(word))]
