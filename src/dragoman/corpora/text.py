"""Cleaning of raw text (Unicode, white space, markup), and splitting of aligned paragraphs into aligned sentences."""

from __future__ import annotations

import re
import unicodedata

_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->")
# Invisible format characters; the joiners U+200C and U+200D stay, because Indic and Persian words need them.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_BULLET = re.compile(r"[•‣▪◦·*]\s+")
_NOT_WORD = re.compile(r"[\W_]+")

_BREAK = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|[。！？]+[」』”’)）]*\s*")  # noqa: RUF001
_LAST_TOKEN = re.compile(r"[^\s(\[\"'«„“‘]*\Z")  # noqa: RUF001
_ABBREVIATIONS = frozenset(
    "al approx bzw ca cf dr e.g etc evtl ex ff fig ggf i.e inc jr mr mrs ms no nr p.ex prof sr st vs z.b".split()  # noqa: SIM905
)


def normalise(text: str) -> str:
    """Return one line of NFC text with single spaces and without tags, bullets, control and invisible characters.

    >>> normalise("Un <i>cafe\\u0301</i>\\u00a0\\n noir\\u200b ")
    'Un café noir'
    """
    text = _TAG.sub("", unicodedata.normalize("NFC", text))
    text = " ".join(_CONTROL.sub(" ", _INVISIBLE.sub("", text)).split())
    return text[match.end() :] if (match := _BULLET.match(text)) else text


def fold(text: str) -> str:
    """Return only the letters and digits, case-folded, to recognise copies of a sentence.

    >>> fold("Yes, my lord!") == fold("yes my Lord")
    True
    """
    return _NOT_WORD.sub("", text.casefold())


def split_sentences(text: str) -> list[str]:
    """Split a paragraph after full stops, question and exclamation marks, in any language; if in doubt, do not split.

    >>> split_sentences("Use e.g. Calc. Or, on p. 3, Dr. No? Yes!")
    ['Use e.g. Calc.', 'Or, on p. 3, Dr. No?', 'Yes!']
    """
    sentences, start = [], 0
    for match in _BREAK.finditer(text):
        following = next((c for c in text[match.end() :] if c.isalnum()), "")
        if not following or following.islower() or _ends_in_abbreviation(text[start : match.start()], match[0]):
            continue
        sentences.append(text[start : match.end()].strip())
        start = match.end()
    return [*sentences, text[start:].strip()]


def _ends_in_abbreviation(before: str, stop: str) -> bool:
    if stop.rstrip() != ".":
        return False
    last = _LAST_TOKEN.search(before)
    token = last[0] if last else ""
    return len(token) == 1 or token.isdigit() or token.casefold() in _ABBREVIATIONS


def pair_sentences(source: str, target: str) -> list[tuple[str, str]]:
    """Split two paragraphs into sentence pairs if both have the same number of lines or sentences, of similar lengths.

    >>> pair_sentences("Salut ! Ça va ?", "Hello! How are you?")
    [('Salut !', 'Hello!'), ('Ça va ?', 'How are you?')]
    >>> pair_sentences("Salut, ça va ?", "Hello! How are you?")
    [('Salut, ça va ?', 'Hello! How are you?')]
    """
    ours, theirs = ([line for line in text.splitlines() if line.strip()] for text in (source, target))
    if len(ours) == len(theirs) > 1:
        return [pair for lines in zip(ours, theirs, strict=True) for pair in pair_sentences(*lines)]
    source, target = " ".join(ours), " ".join(theirs)
    ours, theirs = split_sentences(source), split_sentences(target)
    if len(ours) != len(theirs):
        return [(source, target)]
    pairs = list(zip(ours, theirs, strict=True))
    scale = len(target) / max(len(source), 1)
    return pairs if all(_alike(scale * len(s), len(t)) for s, t in pairs) else [(source, target)]


def _alike(expected: float, found: float) -> bool:
    # Larger differences rather mean that the two sides divide the paragraph differently.
    return max(expected, found) <= 1.7 * min(expected, found) + 10
