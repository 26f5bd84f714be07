"""Scheduling of requests: sentences of many clients in batches, and slow work with its own threads and time limit."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from dragoman import kernels
from dragoman.core.errors import DragomanError
from dragoman.serve.limits import RequestError, busy


@contextlib.contextmanager
def stopped_by(check: Callable[[], None]) -> Iterator[None]:
    """Let the kernels that this thread calls check whether to stop; an error that `check` raises ends them.

    Kernels that run in other threads do not check, so work that may be stopped must use one thread. Kernels that take
    less than a tenth of a second do not check either, nor does other code.

    >>> with stopped_by(lambda: None):
    ...     pass
    """
    before = kernels.set_watcher(check)
    try:
        yield
    finally:
        kernels.set_watcher(before)


T = TypeVar("T")
Item = TypeVar("Item")

#: Seconds that slow work has to obey before its client is told that time is over.
_GRACE = 1.0

#: The part that is left to a thread at work, which will be free soon, of the part that a free thread takes.
_BUSY_SHARE = 1 / 3


class StoppedError(Exception):
    """Work was stopped because nobody waits for it."""


class Stop:
    """A signal to stop work in another thread, because nobody waits for it or its time is over."""

    def __init__(self, seconds: float | None = None):
        self._asked = threading.Event()
        self._seconds = seconds
        self._deadline = float("inf")

    def begin(self) -> None:
        """Start the clock."""
        if self._seconds is not None:
            self._deadline = time.monotonic() + self._seconds

    def ask(self) -> None:
        """Ask the work to stop."""
        self._asked.set()

    @property
    def late(self) -> bool:
        """True if the time limit passed a while ago."""
        return time.monotonic() > self._deadline + _GRACE

    def check(self) -> None:
        """Raise if the work should stop; kernels call this ten times per second."""
        if self._asked.is_set():
            raise StoppedError
        if time.monotonic() > self._deadline:
            raise self.time_over()

    def time_over(self) -> RequestError:
        """Return the error for work that took too long."""
        return RequestError(
            422, f"the work takes longer than {self._seconds:g} seconds; ask for less, or a shorter text"
        )


@dataclass(eq=False)
class _Job:
    """The sentences of a request, to be searched together with other requests of the same key."""

    key: Hashable
    items: Sequence[Any]
    work: Callable[[list[Any]], list[Any]]
    answer: asyncio.Future[list[Any]]
    results: list[Any]
    missing: int
    picked: int = 0
    searched_in: set[_Batch] = field(default_factory=set)

    @property
    def left(self) -> int:
        """The number of sentences that wait."""
        return len(self.items) - self.picked

    def take(self, most: int) -> _Share:
        """Pick the next sentences."""
        begin = self.picked
        self.picked = min(len(self.items), begin + most)
        return _Share(self, begin, self.items[begin : self.picked])


class _Share(NamedTuple):
    """Some sentences of a request, from number `begin` on."""

    job: _Job
    begin: int
    items: Sequence[Any]


@dataclass(eq=False)
class _Batch:
    """Shares that are searched together, and their stop signal."""

    shares: list[_Share]
    stop: Stop = field(default_factory=Stop)


class Batcher:
    """Threads that search the sentences of many requests in batches; each request gets its results.

    A thread that is free takes its part of the sentences that wait, at most a full batch, and waits for no other: so a
    sentence alone is searched at once, and batches grow with the load.
    """

    def __init__(self, *, workers: int, most: int, queue: int):
        self._workers, self._most, self._queue = workers, most, queue
        self._jobs: dict[_Job, None] = {}  # in the order of their turns
        self._pool = ThreadPoolExecutor(workers, "dragoman-search")
        self._free = workers
        self._will_begin = False
        self.waiting = 0
        self.batches = 0

    async def run(self, key: Hashable, items: Sequence[Item], work: Callable[[list[Item]], list[T]]) -> list[T]:
        """Run work on items, together with the items of other requests of the same key."""
        if not items:
            return []
        if self.waiting and self.waiting + len(items) > self._queue:
            raise busy(f"{self.waiting:,} sentences wait already")
        loop = asyncio.get_running_loop()
        job = _Job(key, items, work, loop.create_future(), [None] * len(items), len(items))
        self._jobs[job] = None
        self.waiting += len(items)
        if self._free and not self._will_begin:
            self._will_begin = True
            loop.call_soon(self._begin, loop)  # requests that come at the same time are let in first
        try:
            return await job.answer
        finally:
            self._leave(job)

    async def alone(self, work: Callable[[], T]) -> T:
        """Run short work by itself, in its turn."""
        (found,) = await self.run(object(), [None], lambda _: [work()])
        return found

    def close(self) -> None:
        """End the threads, after the work that is going on."""
        self._pool.shutdown(cancel_futures=True)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give batches to all threads that are free."""
        self._will_begin = False
        while self._free and self._jobs:
            batch = _Batch(self._picked())
            for share in batch.shares:
                share.job.searched_in.add(batch)
            self._free -= 1
            self.batches += 1
            done = self._pool.submit(_done, batch.shares, batch.stop)
            done.add_done_callback(partial(self._ended, loop, batch))

    def _ended(self, loop: asyncio.AbstractEventLoop, batch: _Batch, done: Future[list[Any]]) -> None:
        """Tell the event loop, from the thread of a batch, that it is done."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._end, loop, batch, done)

    def _end(self, loop: asyncio.AbstractEventLoop, batch: _Batch, done: Future[list[Any]]) -> None:
        """Give the results of a batch to the requests that wait for them."""
        self._free += 1
        self._begin(loop)
        for share, result in zip(batch.shares, done.result(), strict=True):
            job = share.job
            job.searched_in.discard(batch)
            if job.answer.done():
                continue
            if isinstance(result, BaseException):
                job.answer.set_exception(result)
                continue
            job.results[share.begin : share.begin + len(result)] = result
            job.missing -= len(result)
            if not job.missing:
                job.answer.set_result(job.results)

    def _leave(self, job: _Job) -> None:
        """Remove a request, and stop batches that nobody waits for."""
        if job in self._jobs:
            del self._jobs[job]
            self.waiting -= job.left
        for batch in job.searched_in:
            if all(share.job.answer.done() for share in batch.shares):
                batch.stop.ask()

    def _picked(self) -> list[_Share]:
        """Pick the next batch: a share of each request of the first one's key; requests with more to come go last."""
        first = next(iter(self._jobs))
        mates = [job for job in self._jobs if job.key == first.key]
        shared_by = self._free + _BUSY_SHARE * (self._workers - self._free)
        room = min(self._most, math.ceil(sum(job.left for job in mates) / shared_by))
        shares = []
        for others, job in zip(range(len(mates), 0, -1), mates, strict=True):
            if not room:
                break
            share = job.take(max(1, room // others))
            room -= len(share.items)
            self.waiting -= len(share.items)
            shares.append(share)
            del self._jobs[job]
        self._jobs.update((share.job, None) for share in shares if share.job.left)
        return shares


def _done(shares: Sequence[_Share], stop: Stop) -> list[Any]:
    """Find the results of each share, or its error; an error of one share does not affect the others."""
    try:
        with stopped_by(stop.check):
            results = shares[0].job.work([item for share in shares for item in share.items])
        ends = itertools.accumulate((len(share.items) for share in shares), initial=0)
        return [results[begin:end] for begin, end in itertools.pairwise(ends)]
    except (DragomanError, MemoryError) as error:
        if len(shares) == 1:
            return [error]
        return [result for share in shares for result in _done([share], stop)]
    except Exception as error:
        return [error] * len(shares)


class SlowPool:
    """A few threads for slow work, which ends when its time is over or when nobody waits for it."""

    def __init__(self, *, workers: int, queue: int, seconds: float):
        self._pool = ThreadPoolExecutor(workers, "dragoman-slow")
        self._most = workers + queue
        self._seconds = seconds
        self.inside = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Run work, or refuse it if the queue is full; cancelling a request stops its work."""
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
            done.exception()  # retrieved, in case nobody is left to do so


def _timed(work: Callable[[], T], stop: Stop) -> T:
    stop.check()  # the client may have gone while this waited
    stop.begin()
    with stopped_by(stop.check):
        return work()
