"""The help pages of LibreOffice: a software manual in some thirty languages."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import ClassVar

from dragoman.core.errors import UsageError
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.corpora.debian import read_packages
from dragoman.corpora.recipe import Material, Recipe, Segment
from dragoman.corpora.text import pair_sentences

_BLOCKS = frozenset(["p", "h1", "h2", "h3", "h4", "h5", "h6"])


@dataclass(frozen=True)
class LibreofficeHelp(Recipe):
    """Any two languages from Debian's packages `libreoffice-help-*`, aligned by page and paragraph id.

    A paragraph is split into sentences if both languages have the same number of them. A page is a document.
    """

    name: ClassVar[str] = "libreoffice-help"
    summary: ClassVar[str] = "LibreOffice help pages (software manual), any two of some thirty languages"

    source: str = option("fr", "language to translate from, such as fr, de, pt-br")
    target: str = option("en", "language to translate into")
    packages: Path | None = option(None, "folder with the .deb files, instead of downloading them")

    def gather(self, *, runtime: Runtime = Runtime()) -> Material:
        """Read the paragraphs that both languages have."""
        if self.source == self.target:
            raise UsageError(f"source and target are both '{self.source}'; expected two languages")
        contents = read_packages(
            [f"libreoffice-help-{_package_language(language)}" for language in (self.source, self.target)],
            lambda path: path.endswith(".html") and "/help/" in path and "/text/" in path,
            licence="MPL-2.0",
            folder=self.packages,
            runtime=runtime,
        )
        pages: dict[str, dict[str, bytes]] = {}
        for path, page in contents.files.items():
            language, place = path.split("/help/", 1)[1].split("/", 1)
            pages.setdefault(language.lower(), {})[place] = page
        source, target = (pages.get(_package_language(language), {}) for language in (self.source, self.target))
        places = sorted(source.keys() & target.keys())
        segments: list[Segment] = []
        with runtime.stage("reading pages") as progress_callback:
            for number, place in enumerate(places, 1):
                ours, theirs = read_page(source[place]), read_page(target[place])
                for key, text in ours.items():
                    if key in theirs:
                        pairs = pair_sentences(text, theirs[key])
                        # Formulas of the spreadsheet are not prose.
                        segments += (Segment(place, *pair) for pair in pairs if not pair[0].startswith("="))
                progress_callback(number / len(places))
        return Material(self.source, self.target, segments, contents.packages)


def _package_language(language: str) -> str:
    return "en-us" if language.lower() == "en" else language.lower()


def read_page(page: bytes) -> dict[str, str]:
    """Return the paragraphs and headings of a help page by their id, line breaks as newlines; no program code.

    >>> read_page(b'<h1 id="a">A</h1><p id="b"><b>B</b><br>C</p><p id="c" class="code">x = 1</p>')
    {'a': 'A', 'b': 'B\\nC'}
    """
    reader = _PageReader()
    reader.feed(page.decode("utf-8", "replace"))
    reader.close()
    return reader.paragraphs


class _PageReader(HTMLParser):
    """Collector of paragraphs. If the text depends on the system (`switchinline`), it takes the default variant."""

    def __init__(self) -> None:
        super().__init__()
        self.paragraphs: dict[str, str] = {}
        self._id: str | None = None
        self._text: list[str] = []
        # Kinds of the open spans of the paragraph; text inside an "other variant" is left out.
        self._spans: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if tag in _BLOCKS:
            self._finish()
            if "code" not in values.get("class", ""):
                self._id = values.get("id") or None
        elif tag == "br":
            self._text.append("\n")
        elif tag == "span":
            kind = "switch" if values.get("class") == "switchinline" else "plain"
            if self._spans and self._spans[-1] == "switch" and not values.get("id", "").startswith("default"):
                kind = "other variant"
            self._spans.append(kind)

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._finish()
        elif tag == "span" and self._spans:
            self._spans.pop()

    def handle_data(self, data: str) -> None:
        if self._id is not None and "other variant" not in self._spans:
            # Line ends in the page's source are only white space; <br> is a line break.
            self._text.append(" ".join(data.split("\n")))

    def _finish(self) -> None:
        if self._id is not None and (text := "".join(self._text).strip()):
            self.paragraphs.setdefault(self._id, text)
        self._id = None
        self._text = []
        self._spans = []
