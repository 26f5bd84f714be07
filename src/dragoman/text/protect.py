"""What tokenisers leave whole: addresses of the web and of people, numbers, names of files, tags and names of users."""

from __future__ import annotations

import re

from dragoman.text.scripts import UNSPACED

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
