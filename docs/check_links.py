"""Check the pages of a built site: every link within it leads somewhere, and nothing is fetched from elsewhere.

    python docs/check_links.py site

MkDocs looks at links in Markdown; this looks at all that a browser would follow or load, anchors included. Links to
other sites are not followed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that make a browser load something at once; a link may lead elsewhere, these may not.
_LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


class _Page(HTMLParser):
    """The anchors of a page, and what it links to and loads."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        for name in ("href", "src"):
            if name in values:
                self.links.append((values[name], (tag, name) in _LOADED))


def faults(site: Path) -> Iterator[str]:
    """All links that lead nowhere, and all that would be fetched from another site, as sentences."""
    parsed = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in parsed.items():
        name = path.relative_to(site.resolve())
        for link, loaded in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("mailto", "data"):
                continue
            if parts.scheme or parts.netloc:
                if loaded:
                    yield f"{name} loads {link}; expected a file of the site"
                continue
            base = site if parts.path.startswith("/") else path.parent
            target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_relative_to(site.resolve()) or not target.exists():
                yield f"{name} links to {link}; there is no such file"
            elif target in parsed and unquote(parts.fragment) not in parsed[target].anchors:
                yield f"{name} links to {link}; the page has no such anchor"


def main() -> None:
    """Print the faults; fail if there are any."""
    site = Path(sys.argv[1])
    found = list(faults(site))
    for fault in found:
        print(fault, file=sys.stderr)
    if found:
        sys.exit(1)
    print(f"{len(list(site.rglob('*.html')))} pages, all links lead somewhere")


if __name__ == "__main__":
    main()
