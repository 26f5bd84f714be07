"""Work on the parts of a whole that says something on the way: in this process with threads, or on workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from dragoman.core.progress import PartProgress, Progress, Remembered
from dragoman.core.work.workers import Workers

Part = TypeVar("Part")


class PartWork(ABC, Generic[Part]):
    """What is done with a part; it is sent to workers, with all that it has."""

    def each(self, parts: Iterable[Part], workers: Workers, threads: int, progress: Progress) -> Iterator[Any]:
        """Do it with each of them, whoever works; what comes of them is in their order."""
        if not workers.remote:
            yield from (self.of(part, threads, PartProgress(progress)) for part in parts)
            return
        for found, said in workers.map(self, parts, window=parts_at_once(workers)):
            said.tell(progress)
            yield found

    def __call__(self, part: Part) -> tuple[Any, Remembered]:
        """Do it with one, on a worker."""
        progress = Remembered()
        return self.of(part, 1, progress), progress

    @abstractmethod
    def of(self, part: Part, threads: int, progress: Progress) -> Any:
        """Do it with one."""


def parts_at_once(workers: Workers) -> int:
    """How many parts are in memory together: one here, and for workers elsewhere some more than they are."""
    return 2 * workers.count + 2 if workers.remote else 1
