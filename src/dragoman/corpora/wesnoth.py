"""The Battle for Wesnoth: dialogue and descriptions of a fantasy game in some fifty languages."""

from __future__ import annotations

import html
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.corpora.debian import find_packages, read_packages
from dragoman.corpora.recipe import Material, Recipe, Segment
from dragoman.corpora.text import pair_sentences

# wesnoth-1.16-data, wesnoth-1.16-httt, ...: the game itself and its campaigns, without programs and music.
_PACKAGES = r"wesnoth-(\d+(?:\.\d+)+)-(?!core|dbg|music|server|tools)\w+"
# The help browser's own markup holds the visible words as text='...'.
_HELP_TAG = re.compile(r"<(bold|format|header|img|italic|jump|ref)>(.*?)</\1>", re.DOTALL)
_HELP_TEXT = re.compile(r"\btext=(?:'((?:[^'\\]|\\.)*)'|(\w+))")
# Variables of the game, placeholders of C and of macros, and rules or lists for making names.
_NOT_PROSE = re.compile(r"\$\w|%\w|[{}|=\\]|\w,\w+,\w")


@dataclass(frozen=True)
class Wesnoth(Recipe):
    """Any two languages from the message catalogues in Debian's packages `wesnoth-*`, aligned by English message.

    A message is split into sentences if both languages have the same number of them; sentences with variables are left
    out. A message is a document: a catalogue is a whole campaign, and too large to be held out.
    """

    name: ClassVar[str] = "wesnoth"
    summary: ClassVar[str] = "The Battle for Wesnoth (fantasy game), any two of some fifty languages"

    source: str = option("fr", "language to translate from, such as fr, de, pt_BR")
    target: str = option("en", "language to translate into")
    packages: Path | None = option(None, "folder with the .deb files, instead of downloading them")

    def gather(self, *, runtime: Runtime = Runtime()) -> Material:
        """Read the messages that both languages have."""
        if self.source == self.target:
            raise UsageError(f"source and target are both '{self.source}'; expected two languages")
        languages = [language for language in (self.source, self.target) if language != "en"]
        contents = read_packages(
            _newest(find_packages(_PACKAGES, self.packages)),
            lambda path: path.endswith(".mo") and any(f"/locale/{language}/" in path for language in languages),
            licence="GPL-2.0-or-later",
            folder=self.packages,
            runtime=runtime,
        )
        messages: dict[str, dict[tuple[str, str], str]] = {language: {} for language in languages}
        for path, data in sorted(contents.files.items()):
            language, catalogue = path.split("/locale/", 1)[1].split("/", 1)
            messages[language] |= {(catalogue, english): text for english, text in read_catalogue(data, path)}
        for language in languages:
            if not messages[language]:
                raise UsageError(
                    f"the packages have no messages in '{language}'; expected a language such as fr, de, pt_BR"
                )
        messages["en"] = {key: key[1] for key in messages[languages[0]]}
        source, target = messages[self.source], messages[self.target]
        segments = [
            Segment("\0".join(key), *pair)
            for key in sorted(source.keys() & target.keys())
            for pair in pair_sentences(clean_message(source[key]), clean_message(target[key]))
            if not any(_NOT_PROSE.search(text) for text in pair)
        ]
        return Material(self.source, self.target, segments, contents.packages)


def _newest(packages: list[str]) -> list[str]:
    versions = {package: package.split("-")[1] for package in packages}
    if not versions:
        raise UsageError(
            "there are no packages of Wesnoth; expected some like wesnoth-1.16-data (after apt-get update, perhaps)"
        )
    newest = max(versions.values(), key=lambda version: [int(number) for number in version.split(".")])
    return [package for package in packages if versions[package] == newest]


def read_catalogue(data: bytes, path: str) -> list[tuple[str, str]]:
    """Return the messages of a gettext catalogue (.mo) with their translations, in the catalogue's order.

    A message with plural forms gives the singular and, in languages with two forms, the plural.
    """
    try:
        order = {0x950412DE: "<", 0xDE120495: ">"}[struct.unpack("<I", data[:4])[0]]
        count, originals, translations = struct.unpack(f"{order}3I", data[8:20])
        pairs: list[tuple[str, str]] = []
        for number in range(count):
            texts = []
            for table in (originals, translations):
                length, start = struct.unpack_from(f"{order}2I", data, table + 8 * number)
                texts.append(data[start : start + length].decode().split("\0"))
            if texts[0] != [""]:
                pairs += zip(*texts, strict=True) if len(texts[0]) == len(texts[1]) else [(texts[0][0], texts[1][0])]
        return pairs
    except (KeyError, struct.error, UnicodeDecodeError):
        raise DataError("is damaged", path=path, expected="a gettext catalogue in UTF-8") from None


def clean_message(text: str) -> str:
    """Return the text as players read it: without the context before a caret or control character, without markup.

    >>> clean_message("female^<i>See</i> <ref>dst='x' text='the king'</ref> &amp; run")
    'See the king & run'
    """
    text = text.split("\x04")[-1].split("^", 1)[-1]
    text = _HELP_TAG.sub(_help_text, text)
    return html.unescape(re.sub(r"</?\w+[^<>]*>", "", text))


def _help_text(match: re.Match[str]) -> str:
    found = _HELP_TEXT.search(match[2])
    if found is None:
        return "" if "=" in match[2] or match[1] == "img" else match[2]
    return (found[1] or found[2] or "").replace("\\'", "'")
