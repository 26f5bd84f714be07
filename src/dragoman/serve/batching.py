"""Work of many clients: sentences that are searched together, and slow work that has a place and a time of its own."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from dragoman.core.errors import DragomanError
from dragoman.core.stopping import stopped_by
from dragoman.serve.failures import RequestError, busy

T = TypeVar("T")
Item = TypeVar("Item")

#: How long to wait for slow work to obey before its client is told that time is over.
_GRACE = 1.0


class StoppedError(Exception):
    """Work that nobody waits for any more."""


class Stop:
    """Says to work in another thread that it should end: because nobody waits, or because its time is over."""

    def __init__(self, seconds: float | None = None):
        self._asked = threading.Event()
        self._seconds = seconds
        self._deadline = float("inf")

    def begin(self) -> None:
        """Let the time begin."""
        if self._seconds is not None:
            self._deadline = time.monotonic() + self._seconds

    def ask(self) -> None:
        """End it."""
        self._asked.set()

    @property
    def late(self) -> bool:
        """Whether its time has been over for a while."""
        return time.monotonic() > self._deadline + _GRACE

    def check(self) -> None:
        """Raise if the work should end; kernels call this ten times a second."""
        if self._asked.is_set():
            raise StoppedError
        if time.monotonic() > self._deadline:
            raise self.time_over()

    def time_over(self) -> RequestError:
        """What to say when the work took too long."""
        return RequestError(
            422, f"the work takes longer than {self._seconds:g} seconds; ask for less, or a shorter text"
        )


@dataclass(eq=False)
class _Job:
    """The sentences of one request that can be searched together with others of the same key."""

    key: Hashable
    items: Sequence[Any]
    work: Callable[[list[Any]], list[Any]]
    answer: asyncio.Future[list[Any]]
    results: list[Any] = field(default_factory=list)
    picked: int = 0

    @property
    def over(self) -> bool:
        """Whether there is nothing left to do for it."""
        return self.answer.done()


class Batcher:
    """Gathers the sentences of many requests into batches, one search at a time, each request getting its share.

    A request alone is searched at once; what comes in the meantime is the next batch. Under load, a batch that is not
    full waits a moment for more.
    """

    def __init__(self, *, most: int, queue: int, gather: float):
        self._most, self._queue, self._gather = most, queue, gather
        self._waiting: deque[_Job] = deque()
        self._pool = ThreadPoolExecutor(1, "dragoman-search")
        self._pump: asyncio.Task[None] | None = None
        self._crowded = False
        self.batches = 0

    @property
    def waiting(self) -> int:
        """How many sentences wait."""
        return sum(len(job.items) - job.picked for job in self._waiting if not job.over)

    async def run(self, key: Hashable, items: Sequence[Item], work: Callable[[list[Item]], list[T]]) -> list[T]:
        """Have work done on items, together with those of other requests of the same key, for which it is the same."""
        if not items:
            return []
        waiting = self.waiting
        if waiting and waiting + len(items) > self._queue:
            raise busy(f"{waiting:,} sentences wait already")
        loop = asyncio.get_running_loop()
        job = _Job(key, items, work, loop.create_future())
        self._waiting.append(job)
        if self._pump is None or self._pump.done():
            self._pump = loop.create_task(self._run())
        return await job.answer

    async def alone(self, work: Callable[[], T]) -> T:
        """Have quick work done in its turn that cannot be done together with others'."""
        (found,) = await self.run(object(), [None], lambda _: [work()])
        return found

    def close(self) -> None:
        """End the thread; work that is going on is waited for."""
        self._pool.shutdown(cancel_futures=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            if self._crowded and self._gather and self.waiting < self._most:
                await asyncio.sleep(self._gather)
            batch = self._picked()
            self._crowded = len(batch) > 1
            if not batch:
                continue
            self.batches += 1
            stop = Stop()
            done = loop.run_in_executor(self._pool, partial(_done, batch, stop))
            for job, _ in batch:
                job.answer.add_done_callback(partial(_stop_if_alone, [one for one, _ in batch], stop))
            for (job, _), result in zip(batch, await done, strict=True):
                if job.over:
                    continue
                if isinstance(result, BaseException):
                    job.answer.set_exception(result)
                    continue
                job.results += result
                if len(job.results) == len(job.items):
                    job.answer.set_result(job.results)

    def _picked(self) -> list[tuple[_Job, list[Any]]]:
        """The next batch: a share for each request of the first one's key; those with more to come go to the end."""
        waiting = [job for job in self._waiting if not job.over]
        mates = [job for job in waiting if job.key == waiting[0].key] if waiting else []
        batch, room = [], self._most
        for left, job in zip(range(len(mates), 0, -1), mates, strict=True):
            if not room:
                break
            items = list(job.items[job.picked : job.picked + max(1, room // left)])
            job.picked += len(items)
            room -= len(items)
            batch.append((job, items))
        unfinished = [job for job, _ in batch if job.picked < len(job.items)]
        served = {id(job) for job, _ in batch}
        self._waiting = deque([*(job for job in waiting if id(job) not in served), *unfinished])
        return batch


def _stop_if_alone(jobs: Sequence[_Job], stop: Stop, _: object) -> None:
    """Stop a batch that nobody waits for any more."""
    if all(job.over for job in jobs):
        stop.ask()


def _done(batch: Sequence[tuple[_Job, list[Any]]], stop: Stop) -> list[Any]:
    """The results of each request's share, or what went wrong with it; one that is refused does not hurt the others."""
    shares = [items for _, items in batch]
    try:
        with stopped_by(stop.check):
            results = batch[0][0].work([item for items in shares for item in items])
        ends = itertools.accumulate((len(items) for items in shares), initial=0)
        return [results[begin:end] for begin, end in itertools.pairwise(ends)]
    except (DragomanError, MemoryError) as error:
        if len(batch) == 1:
            return [error]
        return [result for part in batch for result in _done([part], stop)]
    except Exception as error:
        return [error] * len(batch)


class SlowPool:
    """A few threads for work that takes long; each has its time, and ends when nobody waits for it any more."""

    def __init__(self, *, workers: int, queue: int, seconds: float):
        self._pool = ThreadPoolExecutor(workers, "dragoman-slow")
        self._most = workers + queue
        self._seconds = seconds
        self.inside = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Have work done, or refuse it if too much waits; a request that is cancelled stops its work."""
        if self.inside >= self._most:
            raise busy(f"{self.inside} slow requests wait already")
        stop = Stop(self._seconds)
        self.inside += 1
        done = asyncio.get_running_loop().run_in_executor(self._pool, partial(_timed, work, stop))
        done.add_done_callback(self._left)
        try:
            while not done.done():
                await asyncio.wait({done}, timeout=_GRACE)
                if not done.done() and stop.late:
                    raise stop.time_over()
            return done.result()
        finally:
            stop.ask()

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)

    def _left(self, done: asyncio.Future[Any]) -> None:
        self.inside -= 1
        if not done.cancelled():
            done.exception()  # seen: nobody may be left who could look at it


def _timed(work: Callable[[], T], stop: Stop) -> T:
    stop.check()  # whoever asked may have gone while this waited
    stop.begin()
    with stopped_by(stop.check):
        return work()
