"""Tables as pandas frames and as HTML in notebooks; counts and sentences in messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dragoman.core.errors import UsageError


def frame(columns: Mapping[str, Sequence[Any] | Any]) -> Any:
    """Return columns as a `pandas.DataFrame`; pandas is optional."""
    try:
        import pandas
    except ImportError:
        raise UsageError("frames need pandas; install it with: pip install 'dragoman[frames]'") from None
    return pandas.DataFrame(dict(columns))


def html_table(columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str = "", *, most: int = 20) -> str:
    """Return a table as HTML, with all text escaped; at most `most` rows are shown, and the others counted.

    >>> html_table(["text"], [["a < b"]])
    '<table><thead><tr><th>text</th></tr></thead><tbody><tr><td>a &lt; b</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(value))}</td>" for value in row) + "</tr>" for row in rows[:most]
    )
    more = f"<p>and {len(rows) - most:,} more</p>" if len(rows) > most else ""
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def pluralise(number: int, one: str, several: str | None = None) -> str:
    """Return a number with its noun in the singular or plural.

    >>> pluralise(1, "sentence"), pluralise(1200, "hypothesis", "hypotheses")
    ('1 sentence', '1,200 hypotheses')
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def shorten(line: str) -> str:
    """Shorten a sentence for a message."""
    return line if len(line) <= 60 else f"{line[:57]}..."


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
