"""A self-contained HTML page: headings, paragraphs, tables and figures in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from dragoman.core.files import PathLike, open_output
from dragoman.evaluation.figures.svg import figure_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.8rem; } h2 { font-size: 1.25rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: 0.8rem 0; display: block; overflow-x: auto; }
th { cursor: pointer; } th:empty { cursor: auto; }
th[aria-sort=ascending]::after { content: " \\25B4"; } th[aria-sort=descending]::after { content: " \\25BE"; }
th, td { padding: 0.2rem 0.8rem; text-align: left; border-bottom: 1px solid #8884; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; background: white; padding: 0.5rem; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: 0.9rem; }
@media (max-width: 40rem) { body { margin: 1rem auto; } th, td { padding: 0.2rem 0.4rem; } }
"""

# A click on a header sorts by its column, numbers by value; a second click reverses the order. Blanks stay last.
_SCRIPT = """
for (const th of document.querySelectorAll("th:not(:empty)")) th.onclick = () => {
  const up = th.ariaSort !== "ascending", body = th.closest("table").tBodies[0];
  const keys = new Map([...body.rows].map(row => {
    const text = row.cells[th.cellIndex].textContent.replaceAll(",", ""), power = text.match(/^10\\^([\\d.]+)$/);
    return [row, [text, power ? 10 ** power[1] : parseFloat(text)]];
  }));
  body.append(...[...body.rows].sort((a, b) => {
    const [s, x] = keys.get(a), [t, y] = keys.get(b);
    if (!s || !t) return !s - !t;
    return (up ? 1 : -1) * (isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) || s.localeCompare(t) : x - y);
  }));
  for (const other of th.parentNode.cells) other.ariaSort = null;
  th.ariaSort = up ? "ascending" : "descending";
};
"""


class Report:
    """The parts of a page, in order; `write` makes the file."""

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
        """Add a table; numbers are aligned to the right, and other values are written by `in_words`.

        A folded table shows only the words of `folded` until a reader opens it.
        """
        head = "".join(f"<th>{escape(column)}</th>" for column in columns)
        body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        opened = f"<details><summary>{escape(folded)}</summary>{table}</details>"
        self._parts.append(opened if folded else table)

    def figure(self, figure: Figure, caption: str) -> None:
        """Add a figure as SVG."""
        self._parts.append(f"<figure>{figure_svg(figure)}<figcaption>{escape(caption)}</figcaption></figure>")

    def write(self, path: PathLike) -> None:
        """Write the page."""
        title = escape(self._title)
        page = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>'
            f"<style>{_STYLE}</style></head><body><h1>{title}</h1>{''.join(self._parts)}"
            f"<script>{_SCRIPT}</script></body></html>\n"
        )
        with open_output(path) as stream:
            stream.write(page.encode())


def in_words(value: object) -> str:
    """Return a Python value in plain words; an empty value is a dash.

    >>> in_words(["a", True]), in_words({"scale": np.float64(2.0), "limit": None}), in_words([])
    ('a, yes', 'scale 2, limit -', '-')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {in_words(part)}" for name, part in value.items()) or "-"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(in_words, value)) or "-"
    return "-" if value is None else str(value)


def _cell(value: object) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{escape(in_words(value))}</td>"
    return f'<td class="number">{f"{value:,}" if isinstance(value, int) else f"{value:.4g}"}</td>'
