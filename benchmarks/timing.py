"""How long work takes: the least of several runs, by the clock and of the processor."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Timed(NamedTuple, Generic[T]):
    """The least seconds of some runs, and what the last of them gave.

    Other processes disturb the processor time less than the clock; only the clock tells what threads gain.
    """

    clock: float
    processor: float
    result: T


def best_of(runs: int, work: Callable[[], T]) -> Timed[T]:
    """Do some work several times."""
    clock = processor = float("inf")
    for _ in range(runs):
        begin, used = time.perf_counter(), time.process_time()
        result = work()
        processor = min(processor, time.process_time() - used)
        clock = min(clock, time.perf_counter() - begin)
    return Timed(clock, processor, result)


class TimeTable:
    """A table of times that is printed row by row."""

    def __init__(self, title: str, runs: int):
        self._runs = runs
        print(f"| {title}, seconds, best of {runs} | wall | processor |\n|---|---|---|")

    def row(self, label: str, work: Callable[[], T]) -> T:
        """Time some work and print its row; returns what it gave."""
        timed = best_of(self._runs, work)
        print(f"| {label} | {timed.clock:.2f} | {timed.processor:.2f} |", flush=True)
        return timed.result
