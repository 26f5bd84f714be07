"""Segmentation of plain text and HTML into sentences; spacing and markup between them stay between translations.

A text is read once from left to right: no expression here looks at a character from more than one place, so that time
grows with the length of a text, whatever stands in it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape, unescape

from dragoman.text.preparation import DEFAULT_LANGUAGE

#: A possible end of a sentence: marks, quotes and brackets that close, and white space, if there is some; or a mark
#: that needs none. Runs are taken whole.
_END = re.compile(
    "([.!?…؟।]++[\"'»”’)\\]]*+)([^\\S\\n]++)?|([。！？]++[」』”’）]*+)([^\\S\\n]*+)"  # noqa: RUF001
)
_MARK = re.compile("[.!?…؟।。！？]")  # noqa: RUF001
#: The beginning of a sentence, quotes and brackets before it.
_BEGIN = re.compile("[¿¡\"'«„“‘(\\[\\-–—]*+[^\\W_]")  # noqa: RUF001
_SPACE = re.compile("\\s*+")
#: The mark of abbreviations that are some before numbers only.
_NUMERIC = "#NUMERIC_ONLY#"
#: Characters that stand before a word, besides white space.
_BEFORE_WORDS = frozenset("\"'«„“‘([")  # noqa: RUF001

#: Tags of elements whose content is no text.
_RAW = re.compile(r"<(script|style)\b", re.IGNORECASE | re.ASCII)
_RAW_ENDS = {name: re.compile(rf"</{name}\s*+>", re.IGNORECASE | re.ASCII) for name in ("script", "style")}
_TAG = re.compile(r"<[^<>]*+>")

#: Characters by numbers beyond all characters: Python reads no number of some thousand digits.
_NO_CHARACTER = re.compile(r"&#[0-9]{100,}+;?")

#: Characters that are searched in one go, or a few more.
_STRETCH = 65_536

#: Pieces of a text between two calls of the function that may end the work.
_PIECES = 1000


@dataclass(frozen=True)
class Split:
    """The sentences of a text, and the strings before the first, between them, and after the last."""

    sentences: tuple[str, ...]
    between: tuple[str, ...]

    def joined(self, sentences: Sequence[str]) -> str:
        """Replace the sentences by others.

        >>> split("One.  Two?\\n\\nThree").joined(["Un.", "Deux ?", "Trois"])
        'Un.  Deux ?\\n\\nTrois'
        """
        return _interleaved(sentences, self.between)


@dataclass(frozen=True)
class HtmlText:
    """The texts of HTML, and the markup before the first, between them, and after the last."""

    texts: tuple[str, ...]
    between: tuple[str, ...]

    def joined(self, texts: Sequence[str]) -> str:
        """Replace the texts by others.

        >>> html_text("<b>One &amp; two</b><br>").joined(["Un & deux"])
        '<b>Un &amp; deux</b><br>'
        """
        return _interleaved([escape(text, quote=False) for text in texts], self.between)


def _interleaved(pieces: Sequence[str], between: Sequence[str]) -> str:
    """Join pieces and the strings around them (one more than pieces)."""
    parts = [between[0]]
    for piece, after in zip(pieces, between[1:], strict=True):
        parts += (piece, after)
    return "".join(parts)


def go_on() -> None:
    """Let work go on: the check of work that nobody ends."""


def lines(text: str, check: Callable[[], None] = go_on) -> Split:
    """Take each line for a sentence, as the command line does; empty lines are none.

    >>> lines("One. Two.\\n\\nThree").sentences
    ('One. Two.', 'Three')
    """
    return _cut(text, _lines(text), check)


def split(text: str, language: str | None = None, check: Callable[[], None] = go_on) -> Split:
    """Split a text into sentences: after lines, and after punctuation that ends one, if it seems to be no abbreviation.

    `check` is called now and then, and may raise to end the work.

    >>> split("Dr. Smith sees 3.5 cats. He leaves!").sentences
    ('Dr. Smith sees 3.5 cats.', 'He leaves!')
    """
    return _cut(text, _sentences(text, language), check)


def _cut(text: str, spans: Iterator[tuple[int, int] | None], check: Callable[[], None]) -> Split:
    """Cut the sentences at some places out of a text; None is a place without one."""
    sentences: list[str] = []
    between: list[str] = []
    at = 0
    for number, span in enumerate(spans):
        if number % _PIECES == 0:
            check()
        if span is not None:
            begin, end = span
            between.append(text[at:begin])
            sentences.append(text[begin:end])
            at = end
    return Split(tuple(sentences), (*between, text[at:]))


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Find the lines that are not empty, without white space around them."""
    at = 0
    while True:
        found = _SPACE.match(text, at)
        assert found is not None
        begin = found.end()
        if begin == len(text):
            return
        at = text.find("\n", begin)
        at = len(text) if at < 0 else at
        yield begin, begin + len(text[begin:at].rstrip())


def _sentences(text: str, language: str | None) -> Iterator[tuple[int, int] | None]:
    """Find the sentences; None stands for a mark that ends none."""
    for begin, end in _lines(text):
        for found in _marks(text, begin, end):
            if found is None:
                yield None
                continue
            free = found[3] is not None
            if not free and not _ends(text, begin, end, found, language):
                yield None
                continue
            yield begin, found.end(3 if free else 1)
            begin = found.end()
        if begin < end:
            yield begin, end


def _marks(text: str, begin: int, end: int) -> Iterator[re.Match[str] | None]:
    """Find marks that may end sentences of a line; None stands for a stretch without: threads wait during a search."""
    while begin < end:
        mark = _MARK.search(text, begin, min(end, begin + _STRETCH))
        if mark is None:
            begin += _STRETCH
            yield None
        else:
            found = _END.match(text, mark.start(), end)
            assert found is not None
            yield found
            begin = found.end()


def _ends(text: str, begin: int, end: int, found: re.Match[str], language: str | None) -> bool:
    """Return whether punctuation ends a sentence that begins at `begin`, in a line that ends at `end`."""
    if found[2] is None:
        return found.end() == end
    following = _BEGIN.match(text, found.end(), end)
    if following is None:
        return found.end() == end
    if found[1][0] != "." or found[1].startswith(".."):
        return not following[0][-1].islower() or found[1][0] in "!?"
    stem = _last_word(text, begin, found.start())
    numeric = _prefixes(language).get(stem)
    if numeric is not None and (not numeric or following[0][-1].isdigit()):
        return False
    initial = len(stem) == 1 and stem.isupper()
    return not (following[0][-1].islower() or initial or ("." in stem and stem[0].isalpha()))


def _last_word(text: str, begin: int, end: int) -> str:
    """Return the word that ends at a place, without quotes and brackets before it; empty if there is none."""
    first = end
    while first > begin and not (text[first - 1].isspace() or text[first - 1] in _BEFORE_WORDS):
        first -= 1
    return text[first:end]


@functools.cache
def _prefixes(language: str | None) -> dict[str, bool]:
    """Load the abbreviations of a language, each with whether it is one before a number only."""
    from sacremoses.corpus import NonbreakingPrefixes  # half a second that a start need not wait for

    words = NonbreakingPrefixes().words(language or DEFAULT_LANGUAGE)
    return {word.removesuffix(_NUMERIC).strip(): word.endswith(_NUMERIC) for word in words}


def html_text(source: str, check: Callable[[], None] = go_on) -> HtmlText:
    """Find the texts between tags; comments, scripts and styles are none. `check` is as in `split`.

    >>> html_text("<p title='x'>One<!-- two --> <i>three</i><script>four</script>").texts
    ('One', 'three')
    """
    texts: list[str] = []
    between: list[str] = []
    at = begin = 0
    for number, place in enumerate(_markup(source)):
        if number % _PIECES == 0:
            check()
        if place is None:
            continue
        tag, end = place
        text = source[begin:tag]
        if text and not text.isspace():
            texts.append(_unescaped(text))
            between.append(source[at:begin])
            at = tag
        begin = end
    return HtmlText(tuple(texts), (*between, source[at:]))


def _unescaped(text: str) -> str:
    """Put characters in the place of their names, piece by piece: no other thread runs during one."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        end = text.find("&", at + _STRETCH)  # where a name begins
        end = len(text) if end < 0 else end
        pieces.append(unescape(_NO_CHARACTER.sub("\ufffd", text[at:end])))
        at = end
    return "".join(pieces)


def _markup(source: str) -> Iterator[tuple[int, int] | None]:
    """Find tags, comments, scripts and styles, and the end; None stands for a bracket that begins none.

    An end that is not found behind a place is behind no later place either, and is not searched again.
    """
    missing: set[str] = set()
    at = source.find("<")
    while at >= 0:
        end = _end(source, at, missing)
        yield None if end is None else (at, end)
        at = source.find("<", at + 1 if end is None else end)
    yield len(source), len(source)


def _end(source: str, at: int, missing: set[str]) -> int | None:
    """Return the end of markup that begins with an angle bracket, or None if it is no markup."""
    if source.startswith("<!--", at) and "-->" not in missing:
        found = source.find("-->", at + 4)
        if found >= 0:
            return found + 3
        missing.add("-->")
    raw = _RAW.match(source, at)
    if raw is not None and (name := raw[1].lower()) not in missing:
        closing = _RAW_ENDS[name].search(source, raw.end())
        if closing is not None:
            return closing.end()
        missing.add(name)
    tag = _TAG.match(source, at)
    return None if tag is None else tag.end()
