"""Progress of long work: stages, notes and warnings; shown as bars in a terminal or notebook, otherwise as lines.

A `Runtime` holds a `Progress`. The default is silent and passes warnings to Python's `warnings`; the command line
draws bars or prints lines. Within a stage, work reports the fraction done to a `ProgressCallback`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from html import escape as escape_html
from typing import Any

#: Takes the fraction of the work that is done, from 0 to 1.
ProgressCallback = Callable[[float], None]

_PACKAGE = "dragoman."


def within(progress_callback: ProgressCallback, first: float, last: float) -> ProgressCallback:
    """Return a callback for a part of a stage, whose 0 to 1 is the stage's `first` to `last`."""
    return lambda done: progress_callback(first + (last - first) * done)


class DragomanWarning(UserWarning):
    """Warning that something was skipped, repaired or odd; the work goes on."""


class Progress:
    """Silent progress; subclasses show it."""

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ProgressCallback]:
        """Begin a stage of the work; yield a callback for the fraction done."""
        yield lambda done: None

    @contextlib.contextmanager
    def counter(self, name: str, total: int | None, unit: str = "sentences") -> Iterator[Callable[[int], None]]:
        """Begin a stage of `total` things, if that is known; yield a function that takes how many more are done."""
        with self.stage(name) as progress_callback:
            done = 0

            def more(count: int) -> None:
                nonlocal done
                done += count
                if total:
                    progress_callback(min(done / total, 1.0))

            yield more

    def note(self, text: str) -> None:
        """Show a message."""

    def warn(self, text: str) -> None:
        """Warn that something was skipped, repaired or odd; the warning names the caller's line outside Dragoman."""
        frame, level = sys._getframe(1), 2
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
            frame, level = frame.f_back, level + 1
        warnings.warn(text, DragomanWarning, stacklevel=level)


SILENT = Progress()


class PartProgress(Progress):
    """Progress of one part of many: its stages are not shown, and its warnings only if it `warns`."""

    def __init__(self, whole: Progress, *, warns: bool = True):
        self._whole, self._warns = whole, warns

    def note(self, text: str) -> None:
        """Show a message."""
        self._whole.note(text)

    def warn(self, text: str) -> None:
        """Warn that something was skipped, repaired or odd."""
        if self._warns:
            self._whole.warn(text)


class ProgressRecorder(Progress):
    """Records notes and warnings on a worker, to be replayed in the process that sent the work."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []

    def note(self, text: str) -> None:
        """Record a message."""
        self.messages.append(("note", text))

    def warn(self, text: str) -> None:
        """Record a warning."""
        self.messages.append(("warn", text))

    def replay(self, progress: Progress) -> None:
        """Pass all messages on."""
        for kind, text in self.messages:
            progress.note(text) if kind == "note" else progress.warn(text)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def live_progress() -> Progress:
    """Return a progress that is shown: on standard error, or in the notebook."""
    if _in_notebook():
        return NotebookProgress()
    return BarProgress() if sys.stderr.isatty() else LineProgress()


def choose_progress(progress: Progress | bool) -> Progress:
    """Return the given progress, one that is shown for True, or a silent one for False."""
    if isinstance(progress, Progress):
        return progress
    return live_progress() if progress else SILENT


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return type(get_ipython()).__name__ == "ZMQInteractiveShell"


def format_duration(seconds: float, *, rough: bool = False) -> str:
    """Write a duration with its units, to the second or `rough`.

    >>> format_duration(3.21), format_duration(45), format_duration(125), format_duration(7025)
    ('3.2 s', '45 s', '2 min 05 s', '1 h 57 min')
    >>> format_duration(45.2, rough=True), format_duration(170, rough=True)
    ('45 s', '3 min')
    """
    whole = round(seconds)
    if seconds < 9.95 and seconds != whole and not rough:
        return f"{seconds:.1f} s"
    if whole < (90 if rough else 60):
        return f"{whole} s"
    if whole < (3570 if rough else 3600):
        return f"{round(whole / 60)} min" if rough else f"{whole // 60} min {whole % 60:02} s"
    minutes = round(whole / 60)
    return f"{minutes // 60} h {minutes % 60:02} min"


def format_time_left(done: float, elapsed: float) -> str:
    """Estimate the time left from the fraction done and the seconds elapsed; empty if it cannot be known yet.

    >>> format_time_left(0.25, 30), format_time_left(0.5, 7000), format_time_left(0, 30)
    ('1 min 30 s left', '1 h 57 min left', '')
    """
    if not 0 < done <= 1 or elapsed <= 0:
        return ""
    return f"{format_duration(round(elapsed * (1 - done) / done))} left"


class LineProgress(Progress):
    """One line per stage when it is done; for a long stage also an estimate, and the time left once a minute.

    For logs. Short counted stages give no line.
    """

    #: Seconds between two lines of one stage, from which on a stage is long, and until a first estimate.
    _PAUSE, _LONG, _KNOWN = 60.0, 30.0, 3.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ProgressCallback]:
        """Print the stage's name and its time when it is done."""
        with self._timed(name, "") as (callback, _, start):
            yield callback
        self._say(f"{name}: {format_duration(self._clock() - start)}")

    @contextlib.contextmanager
    def counter(self, name: str, total: int | None, unit: str = "sentences") -> Iterator[Callable[[int], None]]:
        """Print how long it may take, and the time left, if it takes long."""
        done = 0
        with self._timed(name, "" if total is None else f" for {total:,} {unit}") as (callback, announced, start):

            def more(count: int) -> None:
                nonlocal done
                done += count
                if total:
                    callback(min(done / total, 1.0))

            yield more
        if announced:
            self._say(f"{name}: {done:,} {unit} in {format_duration(self._clock() - start)}")

    @contextlib.contextmanager
    def _timed(self, name: str, what: str) -> Iterator[tuple[ProgressCallback, list[str], float]]:
        """Yield a callback that prints the lines of a stage, the list of lines announced, and the time of the start."""
        start = said = self._clock()
        announced: list[str] = []

        def callback(done: float) -> None:
            nonlocal said
            now = self._clock()
            left = format_time_left(done, now - start)
            if not left or done >= 1:
                return
            whole = (now - start) / done
            if not announced and whole >= self._LONG and now - start >= self._KNOWN:
                announced.append(f"{name}: about {format_duration(whole, rough=True)}{what}")
                self._say(announced[0])
            if now - said >= self._PAUSE:
                said = now
                self._say(f"{name}: {done:.0%}, {left}")

        yield callback, announced, start

    def note(self, text: str) -> None:
        """Print a line."""
        self._say(text)

    def warn(self, text: str) -> None:
        """Print a line marked as a warning."""
        self._say(f"warning: {text}")

    def _say(self, text: str) -> None:
        print(f"dragoman: {text}", file=sys.stderr, flush=True)


class BarProgress(Progress):
    """A bar with the time left for the current stage, and a line with its time when it is done."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ProgressCallback]:
        """Draw a bar until the stage ends."""
        with self._bar(name, 1.0) as show:
            yield lambda done: show(done, f"{done:.0%}")

    @contextlib.contextmanager
    def counter(self, name: str, total: int | None, unit: str = "sentences") -> Iterator[Callable[[int], None]]:
        """Draw a bar with the number done, and the number per second, until the stage ends."""
        start, done = time.monotonic(), 0
        of = "" if total is None else f" of {total:,}"
        with self._bar(name, total) as show:

            def more(count: int) -> None:
                nonlocal done
                done += count
                rate = done / max(time.monotonic() - start, 1e-3)
                show(done, f"{done:,}{of} {unit}, {rate:,.{0 if rate >= 10 else 1}f} a second")

            yield more

    @contextlib.contextmanager
    def _bar(self, name: str, total: float | None) -> Iterator[Callable[[float, str], None]]:
        """Draw a bar; yield a function that takes the amount done and its text."""
        from rich import progress
        from rich.markup import escape

        columns = (
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TextColumn("{task.fields[said]}"),
            _times(),
        )
        start = time.monotonic()
        # Results that are printed go to standard output, not above the bar.
        display = progress.Progress(*columns, console=self._console, transient=True, redirect_stdout=False)
        with display as bars:
            task = bars.add_task(escape(name), total=total, said="", fraction=0.0, at=0.0)

            def show(done: float, said: str) -> None:
                at = time.monotonic() - start
                fraction = min(done / total, 1.0) if total else 0.0
                bars.update(task, completed=done, said=said, fraction=fraction, at=at)

            yield show
            said = bars.tasks[0].fields["said"] if total != 1.0 else ""
        times = " ".join(filter(None, [escape(said), format_duration(time.monotonic() - start)]))
        self._console.print(f"[green]✓[/green] {escape(name)} [dim]{times}[/dim]")

    def note(self, text: str) -> None:
        """Print a dim line above the bar."""
        self._print(text, "  [dim]{}[/dim]")

    def warn(self, text: str) -> None:
        """Print a yellow line above the bar."""
        self._print(text, "[yellow]![/yellow] {}")

    def _print(self, text: str, form: str) -> None:
        from rich.markup import escape

        self._console.print(form.format(escape(text)))


def _times() -> Any:
    """Return a column with the time that a stage has taken, and the time left."""
    from rich import progress
    from rich.text import Text

    class Times(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            done, at, now = task.fields["fraction"], task.fields["at"], task.elapsed or 0.0
            whole = at / done if done else 0.0
            left = f" · {format_duration(max(round(whole - now), 0))} left" if done else ""
            return Text(f"{format_duration(round(now))}{left}", "dim")

    return Times()


class NotebookProgress(Progress):
    """One bar that is redrawn as the work goes on, with the last message beside it."""

    #: Redraws per second at most, because a notebook keeps each message.
    _RATE = 4.0

    def __init__(self) -> None:
        self._shown: Any = None
        self._said = ""
        self._drawn = 0.0

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ProgressCallback]:
        """Draw a bar until the stage ends."""
        start = time.monotonic()

        def callback(done: float) -> None:
            if time.monotonic() - self._drawn >= 1 / self._RATE:
                self._draw(name, done, start)

        self._draw(name, 0.0, start)
        yield callback
        self._draw(name, 1.0, start)

    def note(self, text: str) -> None:
        """Show a line beside the bar, until the next one."""
        self._said = text

    def _draw(self, name: str, done: float, start: float) -> None:
        from IPython.display import HTML, display

        self._drawn = time.monotonic()
        left = format_time_left(done, self._drawn - start) if done < 1 else ""
        text = HTML(  # type: ignore[no-untyped-call]
            f"<progress value='{done:.3f}' max='1'></progress> {escape_html(name)} "
            f"<small>{format_duration(self._drawn - start)} &middot; {left} {escape_html(self._said)}</small>"
        )
        if self._shown is None:
            self._shown = display(text, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._shown.update(text)


class LocalProgressCallback:
    """A progress callback that stays in its process: the pickled copy that a worker gets is silent.

    >>> import pickle
    >>> callback = LocalProgressCallback(print)
    >>> callback(0.5)
    0.5
    >>> pickle.loads(pickle.dumps(callback))(0.5)
    """

    def __init__(self, progress_callback: ProgressCallback = lambda done: None):
        self._callback = progress_callback

    def __call__(self, done: float) -> None:
        """Report the fraction done, from 0 to 1."""
        self._callback(done)

    def __reduce__(self) -> tuple[type[LocalProgressCallback], tuple[()]]:
        return LocalProgressCallback, ()
