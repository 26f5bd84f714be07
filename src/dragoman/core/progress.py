"""What long work tells the person who waits: stages with the share done, notes, and warnings.

Functions that take long have a parameter `progress`; the default says nothing and passes warnings to Python's
`warnings`. The command line hands in one that draws bars or prints lines.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator

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
