"""Words in running text: they can be replaced, and everything between them stays as it is."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from dragoman.normalisation.examples import Spelling
from dragoman.normalisation.markup import BREAK, GLUE, LETTER, Markup

MarkupMode = Literal["auto", "xml", "none"]

#: Apostrophes and hyphens, including the double ones of black letter; invisible characters within words.
_JOINERS, _INVISIBLE = "'\u2019\u2010\u2011-⸗", "\u00ad\u200c\u200d\u2060"

#: A character joins letters if it does in at least this share of the examples' forms: fewer may be slips.
_SHARE_OF_FORMS = 0.001

# Each character of a line has a kind: (a) letter, (d) digit, (m) mark, (j) joiner, (n) punctuation of numbers,
# (s) white space, (o) other; or a kind of markup. Regular expressions match kinds, and so do not depend on a language.
_PART = f"(?:[ad][adm]*+|{LETTER}++)"
_WORD = re.compile(f"{_PART}(?:(?:(?<!d)j|j(?!d)|(?<=d)n(?=d)|{GLUE}++)?{_PART})*+")
_ATOM = re.compile(f"[ad][adm]*+|s++|{BREAK}++|{GLUE}++|{LETTER}++|.m*+", re.DOTALL)
_INSIDE = re.compile(r"(?<=[adm])[on](?=[ad])")


class SplitLine(NamedTuple):
    """The words of a line, and the text before, between and after them, which is one piece more."""

    words: list[str]
    between: list[str]

    def joined(self, words: Sequence[str]) -> str:
        """Return the line with other words in place of its words."""
        return self.between[0] + "".join(word + piece for word, piece in zip(words, self.between[1:], strict=True))


class WordFinder:
    """Finder of words: letters, marks and digits, with apostrophes and hyphens between letters, whatever touches them.

    Forms of examples are found whole, the longest first, even if they end in punctuation or contain spaces; and
    characters that join letters in the examples do so in text.

    >>> WordFinder().cut("Vnd (das  l'aer)v' .")
    SplitLine(words=['Vnd', 'das', "l'aer", 'v'], between=['', ' (', '  ', ')', "' ."])
    >>> WordFinder(["v'", "a:b"]).cut("v' c:d(V')")
    SplitLine(words=["v'", 'c:d', "V'"], between=['', ' ', '(', ')'])
    """

    def __init__(self, forms: Iterable[str] = (), spelling: Spelling = Spelling()):
        self._spelling = spelling
        self._kinds = _Kinds()
        known = list(forms)
        self._kinds.learn(known)
        self._whole = {form for form in known if self._plain(form) != [(0, len(form))]}
        self._known: dict[str, str] = {}
        self._trie: dict[str, Any] = {}
        for form in self._whole:
            node = self._trie
            for begin, end in _atoms(self._kinds.of(form)):
                node = node.setdefault(self._folded(form[begin:end]), {})
            node[_END] = True

    def kinds(self, text: str) -> str:
        """Return the kind of each character."""
        return self._kinds.of(text)

    def cut(self, line: str, kinds: str | None = None) -> SplitLine:
        """Cut a line into its words and the text between them; `kinds` may mark markup."""
        kinds = self._kinds.of(line) if kinds is None else kinds
        words: list[str] = []
        between: list[str] = []
        at = 0
        for begin, end in self._spans(line, kinds):
            between.append(line[at:begin])
            words.append(line[begin:end])
            at = end
        return SplitLine(words, [*between, line[at:]])

    def _plain(self, form: str) -> list[tuple[int, int]]:
        return [found.span() for found in _WORD.finditer(self._kinds.of(form))]

    def _spans(self, line: str, kinds: str) -> Iterator[tuple[int, int]]:
        plain = [found.span() for found in _WORD.finditer(kinds)]
        if not self._trie:
            return (span for span in plain if _is_whole(kinds, span))
        return self._longest(line, kinds, plain)

    def _longest(self, line: str, kinds: str, plain: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield words and forms of the examples from left to right; no form begins or ends within a word."""
        atoms = _atoms(kinds)
        folded = ["" if kinds[begin] in _MARKS else self._folded(line[begin:end]) for begin, end in atoms]
        places = {begin: place for place, (begin, _) in enumerate(atoms)} | {len(line): len(atoms)}
        ends = dict(plain)
        within = {place for begin, end in plain for place in range(places[begin] + 1, places[end])}
        at = 0
        while at < len(atoms):
            begin = atoms[at][0]
            last = self._match(line, atoms, folded, at, within) if folded[at] in self._trie else at
            if last > at:
                yield begin, atoms[last - 1][1]
                at = last
            elif begin in ends:
                if _is_whole(kinds, (begin, ends[begin])):
                    yield begin, ends[begin]
                at = places[ends[begin]]
            else:
                at += 1

    def _match(self, line: str, atoms: list[tuple[int, int]], folded: list[str], first: int, within: set[int]) -> int:
        """Return the atom after the longest form that begins at atom `first`; `first` itself if there is none."""
        node, at, best = self._trie, first, first
        while at < len(atoms):
            node = node.get(folded[at])  # type: ignore[assignment]
            if node is None:
                break
            at += 1
            if _END in node and at not in within:
                text = line[atoms[first][0] : atoms[at - 1][1]]
                if self._spelling.word(text) in self._whole or self._spelling.form(text) in self._whole:
                    best = at
        return best

    def _folded(self, atom: str) -> str:
        found = self._known.get(atom)
        if found is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            found = self._known[atom] = self._spelling.form(atom) or " "
        return found


class RunningText:
    """A text that is read in blocks of whole lines; its markup is not part of words."""

    def __init__(self, finder: WordFinder, markup: MarkupMode = "auto"):
        self._finder = finder
        self._markup = None if markup == "none" else Markup(recognised=markup == "xml")

    @property
    def recognised(self) -> bool:
        """True if markup has been recognised so far."""
        return self._markup is not None and self._markup.recognised

    @property
    def unclosed(self) -> str | None:
        """The unclosed element in which nothing is changed, such as a comment."""
        return None if self._markup is None else self._markup.unclosed

    def lines(self, block: str, *, last: bool = True) -> list[SplitLine]:
        """Cut a block into lines, and lines into words; line ends belong to the text between words.

        Unless the block is the `last`, lines whose markup has not ended yet are kept for the next block.
        """
        pieces = [(block, "")] if self._markup is None else self._markup.pieces(block, last=last)
        text = "".join(piece for piece, _ in pieces)
        kinds = "".join(len(piece) * mark if mark else self._finder.kinds(piece) for piece, mark in pieces)
        found: list[SplitLine] = []
        begin = 0
        while begin < len(text):
            end = text.find("\n", begin) + 1 or len(text)
            found.append(self._finder.cut(text[begin:end], kinds[begin:end]))
            begin = end
        return found


def change_text(text: str, running: RunningText, change: Callable[[list[list[str]]], Sequence[Sequence[str]]]) -> str:
    """Change the words of a whole text at once, and keep the rest; `change` gets the words of each line."""
    lines = running.lines(text)
    words = change([line.words for line in lines])
    return "".join(line.joined(new) for line, new in zip(lines, words, strict=True))


#: Largest number of atoms in the cache of folded forms.
_REMEMBERED = 50_000

_END = "\0end"
_MARKS = {BREAK, GLUE, LETTER}


def _atoms(kinds: str) -> list[tuple[int, int]]:
    """Return the spans of atoms, which forms are made of: runs of letters, of spaces, and single other characters."""
    return [found.span() for found in _ATOM.finditer(kinds)]


def _is_whole(kinds: str, span: tuple[int, int]) -> bool:
    """Return True if a word has no markup in it; a word with markup is not changed."""
    begin, end = span
    return kinds.find(GLUE, begin, end) < 0 and kinds.find(LETTER, begin, end) < 0


class _Kinds(dict[int, str]):
    """The kinds of characters, for `str.translate`; new characters are looked up by category."""

    def of(self, text: str) -> str:
        """Return the kind of each character."""
        return text.translate(self)

    def learn(self, forms: Sequence[str]) -> None:
        """Learn which characters join letters in forms, and which spacing accents belong to words."""
        inside: Counter[str] = Counter()
        accents: Counter[str] = Counter()
        for form in forms:
            inside.update({form[found.start()] for found in _INSIDE.finditer(self.of(form))})
            accents.update({character for character in form if unicodedata.category(character) == "Sk"})
        least = _SHARE_OF_FORMS * len(forms)
        self.update({ord(character): "j" for character, count in inside.items() if count >= least})
        self.update({ord(character): "a" for character, count in accents.items() if count >= least})

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character in _JOINERS:
            kind = "j"
        elif category[0] == "M" or character in _INVISIBLE:
            kind = "m"
        elif category == "Nd":
            kind = "d"
        elif category[0] in "LN" or category in ("Co", "Cn"):  # old letters may have private code points
            kind = "a"
        elif character.isspace():
            kind = "s"
        else:
            kind = "n" if character in ".,:" else "o"
        self[code] = kind
        return kind
