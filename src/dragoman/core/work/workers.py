"""Executors: threads of this process, or Dask workers near and far. Callers need not know which.

Parts of the work are pure functions of what they are given, or write files of their own names, whole or not at all: one
that is done twice, because a worker was lost on the way, counts once. Nothing that is random may depend on who does it.
"""

from __future__ import annotations

import itertools
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Protocol, Self, TypeVar

from dragoman.core.errors import DragomanError, UsageError
from dragoman.core.progress import SILENT, Progress, Remembered
from dragoman.core.work.handshake import Needed
from dragoman.core.work.processes import Job, Name, Watch, fork_server, loaded_by_workers, run_all

Item = TypeVar("Item")
Found = TypeVar("Found")
Input = TypeVar("Input", contravariant=True)
Output = TypeVar("Output", covariant=True)

_LOCAL = re.compile(r"local:([1-9][0-9]{0,3})")
_ADDRESS = re.compile(r"[a-z]+://\S+")


class Task(Protocol[Input, Output]):
    """Work on one item of many, here, or on a worker as `remote`, which also returns what there was to say."""

    @property
    def remote(self) -> Callable[[Input], tuple[Output, Remembered]]:
        """The same work as it is sent to workers."""

    def __call__(self, item: Input, /) -> Output:
        """Do the work in this process."""

    def tell(self, told: Remembered) -> None:
        """Say here what was said on a worker."""


class Workers(ABC):
    """Does work that is cut into parts. Use it in a `with`, at whose end those that were started for it end as well."""

    @classmethod
    def of(
        cls, where: str | None = None, *, threads: int = 1, patience: float = 10.0, progress: Progress = SILENT
    ) -> Workers:
        """Return those at some place: `threads`, `local:4`, `tcp://host:port`, or a TOML file for a job queue.

        The latter three need Dask. `patience` is for how many seconds somebody must answer.

        >>> with Workers.of("threads", threads=2) as workers:
        ...     list(workers.map(abs, [3, -2, -1]))
        [3, 2, 1]
        """
        if where in (None, "threads"):
            return ThreadWorkers(threads)
        assert where is not None
        local = _LOCAL.fullmatch(where)
        if not (local or _ADDRESS.fullmatch(where) or where.endswith(".toml")):
            raise UsageError(
                f"the cluster is '{where}'; expected local:N for N processes, the address of a Dask scheduler such as "
                "tcp://host:8786, or a TOML file for a job queue"
            )
        if local and find_spec("distributed") is not None:
            fork_server(loaded_by_workers())  # loads what workers need while this process does the same
        from dragoman.core.work.cluster import ClusterWorkers

        if local:
            return ClusterWorkers.local(int(local[1]), progress)
        if _ADDRESS.fullmatch(where):
            return ClusterWorkers.at(where, patience, progress)
        return ClusterWorkers.queued(where, progress)

    @property
    @abstractmethod
    def count(self) -> int:
        """How many parts are worked on at a time, as things are now."""

    def threads_of(self, jobs: int) -> int:
        """How many threads each of some long jobs may use."""
        return 1

    @abstractmethod
    def map(
        self, function: Callable[[Item], Found], items: Iterable[Item], *, window: int | None = None
    ) -> Iterator[Found]:
        """Yield what a function makes of each item, in order, as it becomes known.

        At most `window` items are under way or wait to be taken, by default some more than there are workers. The
        function is one of a module, or an object whose class is; both must be ready to be pickled.
        """

    @property
    def parts_at_once(self) -> int:
        """Number of large parts that are in memory together: some more than there are workers."""
        return 2 * self.count + 2

    def threads_per_part(self, threads: int) -> int:
        """Number of threads that work on a large part, if this process has `threads`: one on a worker."""
        return 1

    def each(self, task: Task[Item, Found], items: Iterable[Item], threads: int, window: int | None) -> Iterator[Found]:
        """Yield what a task makes of each item, in order; items are spread over workers, or here over `threads`."""
        for found, told in self.map(task.remote, items, window=window):
            task.tell(told)
            yield found

    def in_turn(self, task: Task[Item, Found], parts: Iterable[Item], window: int | None) -> Iterator[Found]:
        """Yield what a task makes of each large part, in order; spread over workers, or here one after another."""
        return self.each(task, parts, 1, window or self.parts_at_once)

    @abstractmethod
    def run_all(self, jobs: Mapping[Name, Job], watch: Watch, *, threads: int = 1) -> dict[Name, DragomanError]:
        """Run long jobs, which use so many threads each, in processes of their own; returns what failed, and how.

        `watch` is called about twice a second and whenever a job ends. If this is interrupted, so are the jobs.
        """

    @abstractmethod
    def require(self, needs: Sequence[Needed]) -> None:
        """Refuse workers of another version, or without something that the work needs; each is named."""

    @abstractmethod
    def close(self) -> None:
        """End those that were started for this."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ThreadWorkers(Workers):
    """Threads of this process, and for long jobs processes beside it."""

    parts_at_once = 1

    def __init__(self, threads: int = 1):
        self._threads = threads

    @property
    def count(self) -> int:
        """The number of threads."""
        return self._threads

    def threads_of(self, jobs: int) -> int:
        """An equal share for each of those that run at a time."""
        return max(1, self._threads // max(1, min(self._threads, jobs)))

    def map(
        self, function: Callable[[Item], Found], items: Iterable[Item], *, window: int | None = None
    ) -> Iterator[Found]:
        """Yield what a function makes of each item, in order."""
        return _in_threads(function, items, self._threads, window)

    def threads_per_part(self, threads: int) -> int:
        """All of them."""
        return threads

    def each(self, task: Task[Item, Found], items: Iterable[Item], threads: int, window: int | None) -> Iterator[Found]:
        """Yield what a task makes of each item, in order."""
        return map(task, items) if threads == 1 else _in_threads(task, items, threads, window)

    def in_turn(self, task: Task[Item, Found], parts: Iterable[Item], window: int | None) -> Iterator[Found]:
        """Yield what a task makes of each part, in order, one after another."""
        return map(task, parts)

    def run_all(self, jobs: Mapping[Name, Job], watch: Watch, *, threads: int = 1) -> dict[Name, DragomanError]:
        """Run jobs in as many processes as there are threads for."""
        return run_all(jobs, max(1, self._threads // threads), watch)

    def require(self, needs: Sequence[Needed]) -> None:
        """Refuse nothing: this process has all that there is."""

    def close(self) -> None:
        """End nothing: threads and processes end with their work."""


def _in_threads(
    function: Callable[[Item], Found], items: Iterable[Item], threads: int, window: int | None
) -> Iterator[Found]:
    """Yield what a function makes of each item, in order; at most `window` are under way or wait to be taken."""
    stream, flying = iter(items), deque[Callable[[], Found]]()
    pool = ThreadPoolExecutor(threads)
    try:
        while True:
            for item in itertools.islice(stream, (window or 2 * threads) - len(flying)):
                flying.append(pool.submit(function, item).result)
            if not flying:
                return
            yield flying.popleft()()
    except BaseException:
        getattr(function, "stop", int)()  # or what is under way would be waited for to its end
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
