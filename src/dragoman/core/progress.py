"""Progress of long work: stages with the share done, notes and warnings; bars in a terminal or notebook, else lines.

Functions that take long have a parameter `progress`; the default says nothing and passes warnings to Python's
`warnings`. The command line hands in one that draws bars or prints lines.
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

ShareDone = Callable[[float], None]

_PACKAGE = "dragoman."


def within(share: ShareDone, first: float, last: float) -> ShareDone:
    """What a part of a stage says of itself, from 0 to 1, as that of the stage: from `first` to `last`."""
    return lambda done: share(first + (last - first) * done)


class DragomanWarning(UserWarning):
    """Something was skipped, repaired or odd, but the work goes on."""


class Progress:
    """The silent progress; subclasses show what they are told."""

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ShareDone]:
        """Begin a stage of the work; yields a function that takes the share done, from 0 to 1."""
        yield lambda share: None

    @contextlib.contextmanager
    def counted(self, name: str, total: int | None, unit: str = "sentences") -> Iterator[Callable[[int], None]]:
        """Begin a stage of so many things, if that is known; yields a function that takes how many more are done."""
        with self.stage(name) as share:
            done = 0

            def more(count: int) -> None:
                nonlocal done
                done += count
                if total:
                    share(min(done / total, 1.0))

            yield more

    def note(self, text: str) -> None:
        """Say something worth knowing."""

    def warn(self, text: str) -> None:
        """Say that something was skipped, repaired or odd; the warning names the line outside of Dragoman."""
        frame, level = sys._getframe(1), 2
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
            frame, level = frame.f_back, level + 1
        warnings.warn(text, DragomanWarning, stacklevel=level)


SILENT = Progress()


class PartProgress(Progress):
    """The progress of one part of many: its stages are none of the whole, and not every part warns of the same."""

    def __init__(self, whole: Progress, *, warns: bool = True):
        self._whole, self._warns = whole, warns

    def note(self, text: str) -> None:
        """Say something worth knowing."""
        self._whole.note(text)

    def warn(self, text: str) -> None:
        """Say that something was skipped, repaired or odd."""
        if self._warns:
            self._whole.warn(text)


class Remembered(Progress):
    """Remembers what is said, for whoever asked a worker for the work."""

    def __init__(self) -> None:
        self._said: list[tuple[str, str]] = []

    def note(self, text: str) -> None:
        """Remember something worth knowing."""
        self._said.append(("note", text))

    def warn(self, text: str) -> None:
        """Remember that something was skipped, repaired or odd."""
        self._said.append(("warn", text))

    def tell(self, progress: Progress) -> None:
        """Say it all."""
        for kind, text in self._said:
            progress.note(text) if kind == "note" else progress.warn(text)


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


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


def duration(seconds: float, *, rough: bool = False) -> str:
    """Write a time so that nobody takes minutes for hours, to the second or `rough`.

    >>> duration(3.21), duration(45), duration(125), duration(7025)
    ('3.2 s', '45 s', '2 min 05 s', '1 h 57 min')
    >>> duration(45.2, rough=True), duration(170, rough=True)
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


def time_left(share: float, elapsed: float) -> str:
    """Say how long work will still take that has gone on for so many seconds; nothing if that cannot be known yet.

    >>> time_left(0.25, 30), time_left(0.5, 7000), time_left(0, 30)
    ('1 min 30 s left', '1 h 57 min left', '')
    """
    if not 0 < share <= 1 or elapsed <= 0:
        return ""
    return f"{duration(round(elapsed * (1 - share) / share))} left"


class LineProgress(Progress):
    """One line for each stage when it is done; of a long one, how long it may take, and once a minute the time left.

    For logs. Of what is counted there is no line if it does not take long.
    """

    #: Seconds between two lines of one stage, those from which on a stage is long, and those that it takes to know.
    _PAUSE, _LONG, _KNOWN = 60.0, 30.0, 3.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ShareDone]:
        """Print the stage's name and its time when it is done."""
        with self._timed(name, "") as (share_done, _, start):
            yield share_done
        self._say(f"{name}: {duration(self._clock() - start)}")

    @contextlib.contextmanager
    def counted(self, name: str, total: int | None, unit: str = "sentences") -> Iterator[Callable[[int], None]]:
        """Print how long it may take, and the time left, if it takes long."""
        done = 0
        with self._timed(name, "" if total is None else f" for {total:,} {unit}") as (share_done, announced, start):

            def more(count: int) -> None:
                nonlocal done
                done += count
                if total:
                    share_done(min(done / total, 1.0))

            yield more
        if announced:
            self._say(f"{name}: {done:,} {unit} in {duration(self._clock() - start)}")

    @contextlib.contextmanager
    def _timed(self, name: str, what: str) -> Iterator[tuple[ShareDone, list[str], float]]:
        """A function that takes the share done and says what is to be said, what was announced, and the beginning."""
        start = said = self._clock()
        announced: list[str] = []

        def share_done(share: float) -> None:
            nonlocal said
            now = self._clock()
            left = time_left(share, now - start)
            if not left or share >= 1:
                return
            whole = (now - start) / share
            if not announced and whole >= self._LONG and now - start >= self._KNOWN:
                announced.append(f"{name}: about {duration(whole, rough=True)}{what}")
                self._say(announced[0])
            if now - said >= self._PAUSE:
                said = now
                self._say(f"{name}: {share:.0%}, {left}")

        yield share_done, announced, start

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
        with self._bar(name, 1.0) as show:
            yield lambda share: show(share, f"{share:.0%}")

    @contextlib.contextmanager
    def counted(self, name: str, total: int | None, unit: str = "sentences") -> Iterator[Callable[[int], None]]:
        """Draw a bar with how many are done, and how many a second, until the stage ends."""
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
        """Draw a bar; yields what takes how much is done, and how that is called."""
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
        # What is printed as results goes where it should, not above the bar.
        shown = progress.Progress(*columns, console=self._console, transient=True, redirect_stdout=False)
        with shown as bars:
            task = bars.add_task(escape(name), total=total, said="", share=0.0, at=0.0)

            def show(done: float, said: str) -> None:
                at = time.monotonic() - start
                bars.update(task, completed=done, said=said, share=min(done / total, 1.0) if total else 0.0, at=at)

            yield show
            said = bars.tasks[0].fields["said"] if total != 1.0 else ""
        times = " ".join(filter(None, [escape(said), duration(time.monotonic() - start)]))
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
    """A column with the time that a stage has taken, and how much is left."""
    from rich import progress
    from rich.text import Text

    class Times(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            share, at, now = task.fields["share"], task.fields["at"], task.elapsed or 0.0
            whole = at / share if share else 0.0
            left = f" · {duration(max(round(whole - now), 0))} left" if share else ""
            return Text(f"{duration(round(now))}{left}", "dim")

    return Times()


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
            f"<small>{duration(self._drawn - start)} &middot; {left} {escape_html(self._said)}</small>"
        )
        if self._shown is None:
            self._shown = display(text, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._shown.update(text)


class ShareHere:
    """Passes the share done on in this process; what is sent of it to a worker tells nobody.

    >>> import pickle
    >>> share = ShareHere(print)
    >>> share(0.5)
    0.5
    >>> pickle.loads(pickle.dumps(share))(0.5)
    """

    def __init__(self, share: ShareDone = lambda share: None):
        self._share = share

    def __call__(self, done: float) -> None:
        """Say how much is done, from 0 to 1."""
        self._share(done)

    def __reduce__(self) -> tuple[type[ShareHere], tuple[()]]:
        return ShareHere, ()
