"""Separation of text from markup (XML, TEI, HTML) in one pass, block by block; the markup may be damaged."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter

#: Effect of markup on the words beside it: it ends them; it is inside a word, which is then not changed; or it is a
#: letter of a word, written as an entity.
BREAK, GLUE, LETTER = "xge"

#: Elements that may begin or end within a word.
_WITHIN_WORDS = frozenset(
    re.findall(
        r"\w+",
        "abbr add am b big c choice corr damage del em ex expan font g hi i orig reg seg sic small span strong sub sup"
        " supplied surplus tt u unclear",
    )
)

#: Elements that contain no text of the document.
_NO_TEXT = frozenset({"script", "style", "teiheader"})

#: Longest tag, in characters, that may be split between blocks.
_LONGEST_TAG = 1 << 16

#: Text is markup if it has at least one complete element per this many lines.
_LINES = 20

_NAME = r"[A-Za-z_:\u00c0-\U0010ffff][^\s<>/\"'=]*+"
_TAG = re.compile(rf"</?({_NAME})[^<>\"']*+(?:\"[^\"<]*+\"[^<>\"']*+|'[^'<]*+'[^<>\"']*+)*+>")
_BROKEN_TAG = re.compile(rf"</?({_NAME})[^<>]*+>")
_BEGUN_TAG = re.compile(r"<[/!]?(?:[A-Za-z_:\u00c0-\U0010ffff]|$)")
_ENTITY = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z_:][\w.:-]{0,63});")
_NEXT = re.compile(r"[<&]")
_NO_BREAK = re.compile(r"""break\s*=\s*["']no["']""")
_DOCTYPE = re.compile(r"<![A-Za-z][^<>\[]*+[>\[]")
_START = re.compile(rf"<\?xml|<!DOCTYPE|<!--|<{_NAME}(?:\s[^<>]*)?(?:>|$)", re.IGNORECASE)
_ENDS = {
    "comment": re.compile("-->"),
    "instruction": re.compile(r"\?>"),
    "document type": re.compile(r"\][ \t\r]*>"),
    "CDATA section": re.compile("]]>"),
}

#: A piece of text, and its kind: "" for text, or one of the above.
Piece = tuple[str, str]


class Markup:
    """Separator of text from tags, comments, instructions and entities, block by block.

    Everything is text until markup is `recognised`: if the text begins with a tag or a declaration, or enough of the
    lines so far have complete elements. A `<` that is never closed is text.

    >>> Markup(recognised=True).pieces("<p n='>'>Vnd<lb/>er &amp; 1 < 2</p>", last=True)
    [("<p n='>'>", 'x'), ('Vnd', ''), ('<lb/>', 'x'), ('er ', ''), ('&amp;', 'x'), (' 1 < 2', ''), ('</p>', 'x')]
    """

    def __init__(self, *, recognised: bool = False):
        self.recognised = recognised
        self._recogniser = _Recogniser()
        self._inside: str | None = None
        self._kept = ""

    @property
    def unclosed(self) -> str | None:
        """The unclosed element in which nothing is changed, such as a comment or a script."""
        return None if self._inside == "CDATA section" else self._inside

    def pieces(self, block: str, *, last: bool) -> list[Piece]:
        """Cut a block of whole lines; unless it is the `last`, a line whose tag is not closed waits for the next."""
        before: list[Piece] = []
        if not self.recognised:
            begin = self._recogniser.begin(block)
            if begin is None:
                return [(block, "")]
            self.recognised = True
            before, block = [(block[:begin], "")], block[begin:]
        inside = self._inside
        block, self._kept = self._kept + block, ""
        found: list[Piece] = []
        at = text = line = (
            0  # text from `text` on is still to be added; `line` is the last line that begins outside tags
        )
        while at < len(block):
            step = self._step(block, at, last)
            if step is None:  # a tag continues in the next block: its line is kept until then
                self._inside = inside
                found = self.pieces(block[:line], last=True)
                self._kept = block[line:]
                return before + found
            end, mark = step
            if mark:
                found += [(block[text:at], ""), (block[at:end], mark)]
                text = end
            else:
                line = max(line, block.rfind("\n", at, end) + 1)
            at = end
        return before + [piece for piece in [*found, (block[text:], "")] if piece[0]]

    def _step(self, block: str, at: int, last: bool) -> tuple[int, str] | None:
        """Return the end and the kind of the piece that begins here; None if it continues in the next block."""
        if self._inside is not None:
            return self._through(block, at)
        found = _NEXT.search(block, at)
        if found is None:
            return len(block), ""
        if found.start() > at:
            return found.start(), ""
        return self._entity(block, at) if block[at] == "&" else self._opened(block, at, last)

    def _through(self, block: str, at: int) -> tuple[int, str]:
        """Return the end of the open element, and its kind."""
        inside = self._inside or ""
        end = (_ENDS.get(inside) or re.compile(f"</{inside}", re.IGNORECASE)).search(block, at)
        mark = "" if inside == "CDATA section" else BREAK
        if end is None:
            return len(block), mark
        if inside == "CDATA section" and end.start() > at:
            return end.start(), ""
        self._inside = None
        return (end.end(), BREAK) if inside in _ENDS else (end.start(), BREAK)

    @staticmethod
    def _entity(block: str, at: int) -> tuple[int, str]:
        found = _ENTITY.match(block, at)
        return (at + 1, "") if found is None else (found.end(), _mark_of_entity(found.group()))

    def _opened(self, block: str, at: int, last: bool) -> tuple[int, str] | None:
        """Return the end and the kind of what a `<` opens."""
        for start, name in (("<!--", "comment"), ("<![CDATA[", "CDATA section"), ("<?", "instruction")):
            if block.startswith(start, at):
                self._inside = name
                return at + len(start), BREAK
        found = _DOCTYPE.match(block, at)
        if found is not None:
            self._inside = "document type" if found.group().endswith("[") else None
            return found.end(), BREAK
        found = _TAG.match(block, at)
        goes_on = found is None and not last and len(block) - at < _LONGEST_TAG and block.find("<", at + 1) < 0
        if goes_on and _BEGUN_TAG.match(block, at):
            return None
        found = found or _BROKEN_TAG.match(block, at)
        if found is None:
            return at + 1, ""
        name, tag = found.group(1).lower(), found.group()
        if name in _NO_TEXT and tag[1] != "/" and not tag.endswith("/>"):
            self._inside = name
        return found.end(), GLUE if name in _WITHIN_WORDS or _NO_BREAK.search(tag) else BREAK


def _mark_of_entity(entity: str) -> str:
    meant = html.unescape(entity)
    if meant == entity:
        return LETTER  # defined by the document type
    if meant in ("'", "\u2019", "-", "\u2010", "\u00ad"):
        return GLUE
    return BREAK if not meant or unicodedata.category(meant[0])[0] in "PSZ" or meant.isspace() else LETTER


class _Recogniser:
    """Recogniser of markup, line by line, so that the result does not depend on the blocks."""

    def __init__(self) -> None:
        self._lines = 0
        self._fitting = 0
        self._open: Counter[str] = Counter()

    def begin(self, block: str) -> int | None:
        """Return the offset of the line from which on the text is markup, if it is in this block."""
        at = 0
        while at < len(block):
            end = block.find("\n", at) + 1 or len(block)
            if self._is_markup(block[at:end]):
                return at
            at = end
        return None

    def _is_markup(self, line: str) -> bool:
        stripped = line.strip()
        if not stripped:
            return False
        self._lines += 1
        if self._lines == 1 and _START.match(stripped):
            return True
        if "<" not in line:
            return False
        for found in _TAG.finditer(line):
            name, tag = found.group(1), found.group()
            if tag.endswith("/>"):
                self._fitting += 1
            elif tag[1] != "/":
                self._open[name] += 1
            elif self._open[name]:
                self._open[name] -= 1
                self._fitting += 1
        return self._fitting * _LINES >= self._lines and self._fitting > 0
