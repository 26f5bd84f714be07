"""Raw text to tokens and back, as Moses does it (through sacremoses), fast enough for whole corpora."""

from __future__ import annotations

import functools
import multiprocessing
import re
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

from dragoman.core.options import Options, option
from dragoman.core.progress import SILENT, Progress

_CHUNK_LINES = 10_000
# Starting a process takes as long as tokenising some tens of thousands of lines.
_LINES_TO_PAY_FOR_A_PROCESS = 100_000
_REMEMBERED_PIECES = 1 << 18
# Control characters that sacremoses removes from within words, and the literal that it writes multiple dots with.
_UNUSUAL = re.compile("[\x00-\x08\x0e-\x1b]|DOTMULTI")


@dataclass(frozen=True)
class Tokeniser(Options):
    """How raw text becomes tokens."""

    lowercase: bool = option(False, "turn all letters into lower case")
    normalise_punctuation: bool = option(False, "make quotes, dashes and spaces uniform first")
    split_dashes: bool = option(False, "split words at hyphens, marked by @-@")
    escape: bool = option(False, "write &, |, <, >, quotes and square brackets as Moses escapes them")


def tokenise_lines(
    lines: Sequence[str],
    language: str,
    options: Tokeniser | None = None,
    *,
    threads: int = 1,
    progress: Progress = SILENT,
) -> list[str]:
    """Tokenise lines of one language (`en`, `fr`, ...); one space between tokens.

    More than one thread means processes, from so many lines on that starting them pays; a script that asks for them
    needs the usual `if __name__ == "__main__"`. The result is the same for any number.

    >>> tokenise_lines(["Hello, Mr. World! It's 5,300.", ""], "en")
    ["Hello , Mr. World ! It 's 5,300 .", '']
    """
    options = options or Tokeniser()
    chunks = [lines[start : start + _CHUNK_LINES] for start in range(0, len(lines), _CHUNK_LINES)]
    tokenise = functools.partial(_tokenise_chunk, language=language, options=options)
    tokenised: list[str] = []
    workers = min(threads, len(lines) // _LINES_TO_PAY_FOR_A_PROCESS)
    with progress.stage(f"tokenising {language}") as done:
        if workers < 2:
            for chunk in chunks:
                tokenised += tokenise(chunk)
                done(len(tokenised) / len(lines))
        else:
            # Not forked: the parent may have threads of its own.
            with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
                for result in pool.map(tokenise, chunks):
                    tokenised += result
                    done(len(tokenised) / len(lines))
    return tokenised


def detokenise_lines(lines: Sequence[str], language: str) -> list[str]:
    """Join tokens to text that a person would write.

    >>> detokenise_lines(["Hello , Mr. World ! It 's 5,300 ."], "en")
    ["Hello, Mr. World! It's 5,300."]
    """
    detokeniser = MosesDetokenizer(lang=language)
    return [detokeniser.detokenize(line.split(), unescape=False) for line in lines]


def _tokenise_chunk(lines: Sequence[str], language: str, options: Tokeniser) -> list[str]:
    if options.normalise_punctuation:
        normaliser = _normaliser(language)
        lines = [normaliser.normalise(line) for line in lines]
    line_tokeniser = _line_tokeniser(language, options.split_dashes)
    lines = [line_tokeniser.tokenise(line) for line in lines]
    if options.lowercase:
        lines = [line.lower() for line in lines]
    if options.escape:
        lines = [line_tokeniser.moses.escape_xml(line) for line in lines]
    return list(lines)


@functools.cache
def _normaliser(language: str) -> _Normaliser:
    return _Normaliser(language)


@functools.cache
def _line_tokeniser(language: str, split_dashes: bool) -> _LineTokeniser:
    return _LineTokeniser(language, split_dashes)


class _Normaliser:
    """Gives what `MosesPunctNormalizer.normalize` gives, without trying to replace what an ASCII line cannot have."""

    def __init__(self, language: str):
        substitutions = MosesPunctNormalizer(lang=language).substitutions
        self._all = [(re.compile(pattern).sub, text) for pattern, text in substitutions]
        self._ascii = [(re.compile(pattern).sub, text) for pattern, text in substitutions if pattern.isascii()]

    def normalise(self, line: str) -> str:
        """Return the line with uniform punctuation."""
        for substitute, text in self._ascii if line.isascii() else self._all:
            line = substitute(text, line)
        return line.strip()


class _LineTokeniser:
    """Gives what `MosesTokenizer.tokenize` gives, several times as fast, by remembering what becomes of each word.

    Its rules look one character to either side of a punctuation mark or, after a full stop, at the first character
    of the next word. So a line can be cut at a space that has a letter or digit on either side: what happens to the
    piece before it depends on the piece, on whether the line begins or ends there, and on the kind of that character.
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

    def islower(self, text: str) -> bool:
        return self._lower.issuperset(text)

    def isanyalpha(self, text: str) -> bool:
        return not self._alpha.isdisjoint(text)
