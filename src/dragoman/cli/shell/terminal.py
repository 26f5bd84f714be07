"""Consoles and tables of commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

_NO_WIDTH = 10_000


def output() -> Console:
    """Return the console for results: standard output."""
    # A pipe or a file has no width: a line of a table stays a line.
    return Console(highlight=False, width=None if sys.stdout.isatty() else _NO_WIDTH)


def diagnostics() -> Console:
    """Return the console for messages about results: standard error."""
    return Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _NO_WIDTH)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Group:
    """Lay out rows under a title; align columns to the right whose first row is a number."""
    drawn = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        right = bool(rows) and isinstance(rows[0][i], int | float)
        drawn.add_column(escape(column), justify="right" if right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(_cell(value) for value in row))
    return Group(Text(title, "bold"), drawn)  # a table's own title would be broken to its width


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape(str(value))
