"""A fast sacremoses: the same tokens, with a cache of the tokens of each word."""

from __future__ import annotations

import functools
import re

from sacremoses import MosesTokenizer

_REMEMBERED_PIECES = 1 << 18
# Control characters that sacremoses removes from within words, and the literal that it writes multiple dots with.
_UNUSUAL = re.compile("[\x00-\x08\x0e-\x1b]|DOTMULTI")

#: Languages for which sacremoses adds ideographs to letters.
_IDEOGRAPHS = ("cjk", "ja", "ko", "zh")


@functools.cache
def line_tokeniser(language: str, split_dashes: bool) -> LineTokeniser:
    """Return the tokeniser of a language; it keeps its cache for the next text."""
    return LineTokeniser(language, split_dashes)


def _ranges(characters: str) -> str:
    """Write characters as ranges of a class of a regular expression.

    >>> _ranges("cab-")
    '\\\\-a-c'
    """
    codes = sorted(set(map(ord, characters)))
    starts = [code for before, code in zip([-2, *codes], codes, strict=False) if code != before + 1]
    ends = [code for code, after in zip(codes, [*codes[1:], -2], strict=True) if after != code + 1]
    bounds = [(re.escape(chr(start)), re.escape(chr(end))) for start, end in zip(starts, ends, strict=True)]
    return "".join(start if start == end else f"{start}-{end}" for start, end in bounds)


class LineTokeniser:
    """Does what `MosesTokenizer.tokenize` does, several times as fast: it caches the tokens of each word.

    Its rules look one character to either side of a punctuation mark or, after a full stop, at the first character
    of the next word. So a line can be cut at a space that has a letter or digit on either side: the tokens of the piece
    before it depend on the piece, on whether the line begins or ends there, and on the kind of that character.
    """

    def __init__(self, language: str, split_dashes: bool):
        self.moses = _Moses(language)
        self._split_dashes = split_dashes
        self._alnum = frozenset(self.moses.IsAlnum)
        self._remembered = functools.lru_cache(_REMEMBERED_PIECES)(self._tokenise_piece)

    def tokenise(self, line: str) -> str:
        """Return the tokens of a line, joined by spaces."""
        if _UNUSUAL.search(line):
            return " ".join(self._tokenise(line))
        done: list[str] = []
        piece = ""
        for word in line.split():
            if piece:
                if word[0] not in self._alnum and piece[-1] not in self._alnum:
                    piece = f"{piece} {word}"
                    continue
                after = self._stand_in(word) if piece[-1] == "." else "A"
                done.append(self._remembered("A" if done else "", piece, after))
            # Letters and digits only: nothing happens to such a word.
            if word.isascii() and word.isalnum():
                done.append(word)
                piece = ""
            else:
                piece = word
        if piece:
            done.append(self._remembered("A" if done else "", piece, ""))
        return " ".join(done)

    def _stand_in(self, word: str) -> str:
        return "a" if self.moses.islower(word[0]) else "1" if word[0] in "0123456789" else "A"

    def _tokenise_piece(self, before: str, piece: str, after: str) -> str:
        stem, mark = piece[:-1], piece[-1]
        if mark in ",;:!?" and stem.isascii() and stem.isalnum():
            return f"{stem} {mark}"
        tokens = self._tokenise(f"{before} {piece} {after}")
        return " ".join(tokens[len(before) : len(tokens) - len(after)])

    def _tokenise(self, text: str) -> list[str]:
        tokens: list[str] = self.moses.tokenize(text, aggressive_dash_splits=self._split_dashes, escape=False)
        return tokens


class _Moses(MosesTokenizer):  # type: ignore[misc]
    """The same tokeniser with sets in place of the strings and lists that it searches."""

    def __init__(self, language: str):
        super().__init__(lang=language)
        for name in ("NONBREAKING_PREFIXES", "NUMERIC_ONLY_PREFIXES"):
            setattr(self, name, frozenset(getattr(self, name)))
        self._lower = frozenset(self.IsLower)
        self._alpha = frozenset(self.IsAlpha)
        # sacremoses compares with one ideograph after the other: 0.3 ms a character.
        if language in _IDEOGRAPHS:
            pad = rf"([^{_ranges(self.IsAlnum)}\s\.'\`\,\-])"
            self.PAD_NOT_ISALNUM = re.compile(pad), r" \1 "
            split = rf"([{_ranges(self.IsAlnum)}])\-(?=[{_ranges(self.IsAlnum)}])"
            self.AGGRESSIVE_HYPHEN_SPLIT = re.compile(split), r"\1 @-@ "

    def islower(self, text: str) -> bool:
        return self._lower.issuperset(text)

    def isanyalpha(self, text: str) -> bool:
        return not self._alpha.isdisjoint(text)
