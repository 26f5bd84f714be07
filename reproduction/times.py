"""How long steps took, in seconds of processors, and how long others will take."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

from dragoman.core.options import read_toml

#: Assumed for steps like which none was ever done: those that were measured took 6 to 200 seconds, 80 on average.
UNKNOWN_SECONDS = 100.0


@dataclass(frozen=True)
class Took:
    """How long a step took: its name, the kind of work, the lines that it worked on, and seconds of processors.

    Seconds of processors do not depend on what else runs; `elapsed` is time by the clock, 0 if it is not known.
    """

    step: str
    kind: str
    lines: int
    seconds: float
    elapsed: float = 0.0

    @property
    def share(self) -> float:
        """The share of a processor that the step had, 0 if it is not known."""
        return self.seconds / self.elapsed if self.elapsed else 0.0


@dataclass(frozen=True)
class Times:
    """Durations of steps in this working folder, and of those whose results are in the repository."""

    file: Path
    published: tuple[Path, ...] = ()

    def add(self, took: Took) -> None:
        """Record a duration; several processes may do so at once."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        values = [took.step, took.kind, took.lines, round(took.seconds, 2), round(took.elapsed, 2)]
        line = json.dumps(values) + "\n"
        opened = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(opened, line.encode())
        finally:
            os.close(opened)

    def recorded(self, step: str) -> Took | None:
        """Return how long a step took in this working folder, the last time if there are several."""
        return next((took for took in reversed(list(self._here())) if took.step == step), None)

    def estimate(self, step: str, kind: str, lines: int) -> float | None:
        """Return how many seconds of processors a step will take, by itself earlier or by others of its kind."""
        same = [took.seconds for took in self._all if (took.step, took.kind, took.lines) == (step, kind, lines)]
        if same:
            return fmean(same)
        like = [took for took in self._all if took.kind == kind and took.lines]
        if like and not lines:  # texts are not there yet
            return fmean(took.seconds for took in like)
        return lines * sum(took.seconds for took in like) / sum(took.lines for took in like) if like else None

    @cached_property
    def _all(self) -> list[Took]:
        return [*self._here(), *_published(self.published)]

    def _here(self) -> Iterable[Took]:
        if not self.file.exists():
            return
        for line in self.file.read_bytes().splitlines():
            try:
                yield Took(*json.loads(line))
            except (ValueError, TypeError):  # cut off by a crash of the machine
                continue


def _published(folders: Iterable[Path]) -> Iterable[Took]:
    """Yield how long steps took by folders of results: experiments have a table, and measures a few values."""
    for folder in folders:
        took = read_toml(folder / "origin.toml").get("took")
        if took and took["seconds"]:
            yield Took(**took)
        if not (folder / "times.csv").exists():
            continue
        with (folder / "times.csv").open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                if float(row["whole"]):
                    yield Took(row["step"], row["kind"], int(row["lines"]), float(row["whole"]))


def in_words(seconds: float) -> str:
    """Return a duration in words.

    >>> in_words(40), in_words(200), in_words(5400)
    ('40 s', '3 min', '1 h 30 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
