"""The text of HTML, read once: tags stay where they are, and what is between them is a text each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape, unescape

from dragoman.serve.sentences import go_on

#: Tags of elements whose content is no text.
_RAW = re.compile(r"<(script|style)\b", re.IGNORECASE | re.ASCII)
_RAW_ENDS = {name: re.compile(rf"</{name}\s*+>", re.IGNORECASE | re.ASCII) for name in ("script", "style")}
_TAG = re.compile(r"<[^<>]*+>")

#: Characters by number, whose numbers are beyond all characters: Python reads no number of some thousand digits.
_NO_CHARACTER = re.compile(r"&#[0-9]{100,}+;?")

#: So many characters are read in one go, or a few more.
_STRETCH = 65_536

#: So many pieces are looked at before somebody is asked whether to go on.
_PIECES = 1000


@dataclass(frozen=True)
class HtmlText:
    """The texts of HTML, and what stands before, between and behind them."""

    texts: tuple[str, ...]
    between: tuple[str, ...]

    def joined(self, texts: Sequence[str]) -> str:
        """Put others in the place of the texts.

        >>> html_text("<b>One &amp; two</b><br>").joined(["Un & deux"])
        '<b>Un &amp; deux</b><br>'
        """
        parts = [self.between[0]]
        for text, after in zip(texts, self.between[1:], strict=True):
            parts += (escape(text, quote=False), after)
        return "".join(parts)


def html_text(source: str, check: Callable[[], None] = go_on) -> HtmlText:
    """Find the texts between tags; comments, scripts and styles are none.

    `check` is called now and then, and may raise to end the work.

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
    """A text with characters in place of their names, piece by piece: while one is read, no other thread gets on."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        end = text.find("&", at + _STRETCH)  # names begin with it, and have no other
        end = len(text) if end < 0 else end
        pieces.append(unescape(_NO_CHARACTER.sub("\ufffd", text[at:end])))
        at = end
    return "".join(pieces)


def _markup(source: str) -> Iterator[tuple[int, int] | None]:
    """Where tags, comments, scripts and styles begin and end, None for a bracket that is none; the last is the end.

    What is looked for behind a place and not found is behind no later place either, and is not looked for again.
    """
    missing: set[str] = set()
    at = source.find("<")
    while at >= 0:
        end = _end(source, at, missing)
        yield None if end is None else (at, end)
        at = source.find("<", at + 1 if end is None else end)
    yield len(source), len(source)


def _end(source: str, at: int, missing: set[str]) -> int | None:
    """Where what begins with an angle bracket ends, if it is markup."""
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
