"""Progress that people see: bars with the time left while somebody watches, in a terminal or a notebook, else lines."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from html import escape as escape_html
from typing import Any

from dragoman.core.progress import SILENT, Progress, ShareDone


def live_progress() -> Progress:
    """The progress for whoever is watching: on standard error, or in the notebook."""
    if _in_notebook():
        return NotebookProgress()
    return BarProgress() if sys.stderr.isatty() else LineProgress()


def watcher_of(progress: Progress | bool) -> Progress:
    """The progress that was asked for: a given one, that for whoever is watching, or none."""
    if isinstance(progress, Progress):
        return progress
    return live_progress() if progress else SILENT


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return type(get_ipython()).__name__ == "ZMQInteractiveShell"


def time_left(share: float, elapsed: float) -> str:
    """Say how long work will still take that has gone on for so many seconds; nothing if that cannot be known yet.

    >>> time_left(0.25, 30), time_left(0.5, 7000), time_left(0, 30)
    ('90 s left', '1 h 57 min left', '')
    """
    if not 0 < share <= 1 or elapsed <= 0:
        return ""
    seconds = round(elapsed * (1 - share) / share)
    if seconds < 120:
        return f"{seconds} s left"
    minutes = round(seconds / 60)
    return f"{minutes} min left" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min left"


class LineProgress(Progress):
    """One line for each stage when it is done, and one a minute with the time left until then; for logs."""

    #: Seconds between two lines of one stage.
    _PAUSE = 60.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ShareDone]:
        """Print the stage's name and its time when it is done."""
        start = said = self._clock()

        def share_done(share: float) -> None:
            nonlocal said
            now = self._clock()
            left = time_left(share, now - start)
            if left and share < 1 and now - said >= self._PAUSE:
                said = now
                self._say(f"{name}: {share:.0%}, {left}")

        yield share_done
        self._say(f"{name}: {self._clock() - start:.1f} s")

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
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ShareDone]:
        """Draw a bar until the stage ends."""
        from rich import progress
        from rich.markup import escape

        columns = (
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TextColumn("{task.percentage:>3.0f}%"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
        )
        start = time.monotonic()
        with progress.Progress(*columns, console=self._console, transient=True) as bars:
            task = bars.add_task(escape(name), total=1.0)
            yield lambda share: bars.update(task, completed=share)
        self._console.print(f"[green]✓[/green] {escape(name)} [dim]{time.monotonic() - start:.1f} s[/dim]")

    def note(self, text: str) -> None:
        """Print a dim line above the bar."""
        self._print(text, "  [dim]{}[/dim]")

    def warn(self, text: str) -> None:
        """Print a yellow line above the bar."""
        self._print(text, "[yellow]![/yellow] {}")

    def _print(self, text: str, form: str) -> None:
        from rich.markup import escape

        self._console.print(form.format(escape(text)))


class NotebookProgress(Progress):
    """One bar that is drawn anew as the work goes on, with what was said last beside it."""

    #: A notebook keeps each message: no more than so many a second.
    _RATE = 4.0

    def __init__(self) -> None:
        self._shown: Any = None
        self._said = ""
        self._drawn = 0.0

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ShareDone]:
        """Draw a bar until the stage ends."""
        start = time.monotonic()

        def share_done(share: float) -> None:
            if time.monotonic() - self._drawn >= 1 / self._RATE:
                self._draw(name, share, start)

        self._draw(name, 0.0, start)
        yield share_done
        self._draw(name, 1.0, start)

    def note(self, text: str) -> None:
        """Show a line beside the bar, until the next one."""
        self._said = text

    def _draw(self, name: str, share: float, start: float) -> None:
        from IPython.display import HTML, display

        self._drawn = time.monotonic()
        left = time_left(share, self._drawn - start) if share < 1 else ""
        text = HTML(  # type: ignore[no-untyped-call]
            f"<progress value='{share:.3f}' max='1'></progress> {escape_html(name)} "
            f"<small>{self._drawn - start:.1f} s &middot; {left} {escape_html(self._said)}</small>"
        )
        if self._shown is None:
            self._shown = display(text, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._shown.update(text)
