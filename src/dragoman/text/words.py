"""What a word of a prepared sentence is."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^ \t-\r]+")  # ASCII white space separates words, nothing else


def words_of(line: str) -> list[str]:
    """Split a tokenised sentence into its words.

    >>> words_of("la  maison\\u00a0bleue")
    ['la', 'maison\\xa0bleue']
    """
    return _WORD.findall(line)
