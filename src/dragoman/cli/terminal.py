"""What a person at a terminal sees: bars with the time left while somebody watches, plain lines otherwise."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence

from rich.console import Console, Group
from rich.markup import escape
from rich.progress import BarColumn, Progress as Bars, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from dragoman.core.progress import Progress, ShareDone

_NO_WIDTH = 10_000


def output() -> Console:
    """The console for results: standard output."""
    # A pipe or a file has no width: a line of a table stays a line.
    return Console(highlight=False, width=None if sys.stdout.isatty() else _NO_WIDTH)


def diagnostics() -> Console:
    """The console for what is said about results: standard error."""
    return Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _NO_WIDTH)


def progress() -> Progress:
    """The progress for this terminal, on standard error."""
    return BarProgress() if sys.stderr.isatty() else LineProgress()


class LineProgress(Progress):
    """One line for each stage when it is done; for logs."""

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ShareDone]:
        """Print the stage's name and its time when it is done."""
        start = time.monotonic()
        yield lambda share: None
        self._say(f"{name}: {time.monotonic() - start:.1f} s")

    def note(self, text: str) -> None:
        """Print a line."""
        self._say(text)

    def warn(self, text: str) -> None:
        """Print a line marked as a warning."""
        self._say(f"warning: {text}")

    def _say(self, text: str) -> None:
        print(f"dragoman: {text}", file=sys.stderr, flush=True)


class BarProgress(Progress):
    """A bar with the time left for the stage that runs, a line with its time when it is done."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ShareDone]:
        """Draw a bar until the stage ends."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        start = time.monotonic()
        with Bars(*columns, console=self._console, transient=True) as bars:
            task = bars.add_task(escape(name), total=1.0)
            yield lambda share: bars.update(task, completed=share)
        self._console.print(f"[green]✓[/green] {escape(name)} [dim]{time.monotonic() - start:.1f} s[/dim]")

    def note(self, text: str) -> None:
        """Print a dim line above the bar."""
        self._console.print(f"  [dim]{escape(text)}[/dim]")

    def warn(self, text: str) -> None:
        """Print a yellow line above the bar."""
        self._console.print(f"[yellow]![/yellow] {escape(text)}")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Group:
    """Lay out rows under a title; columns whose first row is a number are set to the right."""
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
