"""Segmenters: they cut text that is written without spaces into words, by a tool for the language or by characters.

A tool is a package in an extra of its own: a small class with `words`, and a line in `SEGMENTERS`.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Protocol

from dragoman.core.errors import UsageError
from dragoman.text.words import UNSPACED

#: The segmenter of one side of a text; a model stores it, so that all text is cut in the same way.
Segmentation = Literal["none", "characters", "mecab", "jieba", "pythainlp"]

#: Vowel and tone signs, which belong to the character before.
_SIGNS = (
    "\u0e31\u0e33-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb3-\u0ebc\u0ec8-\u0ece\u17b4-\u17d3\u17dd\u102b-\u103e"
    "\u0f18\u0f19\u0f35\u0f37\u0f39\u0f71-\u0f84\u0f86\u0f87\u0f8d-\u0fbc\u3099\u309a"
)
_CHARACTER = re.compile(rf"[{UNSPACED}][{_SIGNS}]*|[^\W{UNSPACED}]+|\S")


class Segmenter(Protocol):
    """Cuts text without spaces into words."""

    #: The package that it needs, and the extra that has it.
    package: ClassVar[str | None]
    extra: ClassVar[str | None]
    #: The languages that it is for.
    languages: ClassVar[tuple[str, ...]]

    def words(self, text: str) -> Iterable[str]:
        """Cut text into words; white space may be among them."""


class Characters:
    """Each character is a word, with the vowel and tone signs on it; runs of Latin letters and digits stay whole."""

    package: ClassVar[str | None] = None
    extra: ClassVar[str | None] = None
    languages: ClassVar[tuple[str, ...]] = ()

    def words(self, text: str) -> Iterable[str]:
        """Cut text into characters."""
        return _CHARACTER.findall(text)


class Mecab:
    """MeCab with the dictionary UniDic, for Japanese."""

    package: ClassVar[str | None] = "fugashi"
    extra: ClassVar[str | None] = "japanese"
    languages: ClassVar[tuple[str, ...]] = ("ja",)

    def __init__(self) -> None:
        from fugashi import Tagger

        self._tagger: Any = Tagger("-Owakati")

    def words(self, text: str) -> Iterable[str]:
        """Cut text into short units of words."""
        return str(self._tagger.parse(text)).split()


class Jieba:
    """jieba, for Chinese; words that it does not know are found by its hidden Markov model."""

    package: ClassVar[str | None] = "jieba"
    extra: ClassVar[str | None] = "chinese"
    languages: ClassVar[tuple[str, ...]] = ("zh",)

    def __init__(self) -> None:
        import jieba

        jieba.setLogLevel("WARNING")
        self._cut: Any = jieba.lcut

    def words(self, text: str) -> Iterable[str]:
        """Cut text into words."""
        return [str(word) for word in self._cut(text)]


class PyThaiNlp:
    """PyThaiNLP's newmm: the longest words of a dictionary, for Thai."""

    package: ClassVar[str | None] = "pythainlp"
    extra: ClassVar[str | None] = "thai"
    languages: ClassVar[tuple[str, ...]] = ("th",)

    def __init__(self) -> None:
        from pythainlp.tokenize import word_tokenize

        self._cut: Any = word_tokenize

    def words(self, text: str) -> Iterable[str]:
        """Cut text into words."""
        return [str(word) for word in self._cut(text, engine="newmm")]


SEGMENTERS: dict[Segmentation, type[Segmenter]] = {
    "characters": Characters,
    "mecab": Mecab,
    "jieba": Jieba,
    "pythainlp": PyThaiNlp,
}


def is_installed(name: Segmentation) -> bool:
    """Tell whether the package of a segmenter is installed."""
    package = SEGMENTERS[name].package
    return package is None or importlib.util.find_spec(package) is not None


def tool_for(language: str) -> Segmentation | None:
    """Return the tool for a language, installed or not."""
    code = language.split("-")[0].split("_")[0]
    return next((name for name, segmenter in SEGMENTERS.items() if code in segmenter.languages), None)


def segment(text: str, name: Segmentation) -> str:
    """Cut text into words with single spaces between them.

    >>> segment("猫が3匹いるよ。cats and dogs", "characters")
    '猫 が 3 匹 い る よ 。 cats and dogs'
    """
    return " ".join(" ".join(_load(name).words(text)).split()) if text.strip() else ""


@functools.cache
def _load(name: Segmentation) -> Segmenter:
    segmenter = SEGMENTERS[name]
    if not is_installed(name):
        raise UsageError(
            f"this text is segmented by {name}, which is not installed;"
            f" expected the package: pip install 'dragoman[{segmenter.extra}]'"
        )
    return segmenter()
