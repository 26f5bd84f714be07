"""A self-contained HTML page: headings, paragraphs, tables and pictures, one file to open or to send."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from dragoman.core.files import PathLike, open_output
from dragoman.evaluation.figures.svg import figure_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.8rem; } h2 { font-size: 1.25rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: 0.8rem 0; }
th, td { padding: 0.2rem 0.8rem; text-align: left; border-bottom: 1px solid #8884; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; background: white; padding: 0.5rem; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: 0.9rem; }
"""


class Report:
    """Collects the parts of a page, in order; `write` makes the file."""

    def __init__(self, title: str):
        self._title = title
        self._parts: list[str] = []

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def paragraph(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], *, folded: str = "") -> None:
        """Add a table; numbers are set to the right. One that is folded shows only these words until it is opened."""
        head = "".join(f"<th>{escape(column)}</th>" for column in columns)
        body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        opened = f"<details><summary>{escape(folded)}</summary>{table}</details>"
        self._parts.append(opened if folded else table)

    def figure(self, figure: Figure, caption: str) -> None:
        """Add a picture, drawn into the page as SVG."""
        self._parts.append(f"<figure>{figure_svg(figure)}<figcaption>{escape(caption)}</figcaption></figure>")

    def write(self, path: PathLike) -> None:
        """Write the page."""
        title = escape(self._title)
        page = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"<style>{_STYLE}</style></head><body><h1>{title}</h1>{''.join(self._parts)}</body></html>\n"
        )
        with open_output(path) as stream:
            stream.write(page.encode())


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{escape(str(value))}</td>"
    return f'<td class="number">{f"{value:,}" if isinstance(value, int) else f"{value:.4g}"}</td>'
