"""Long jobs in parallel processes, and bundles of short items.

A task costs its scheduler some milliseconds, however small it is. The number of items per task is therefore adapted to
the time that they take; results do not depend on it.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, Generic, TypeVar

from dragoman.core.errors import BusyError, DataError, DragomanError

Name = TypeVar("Name")
Job = Callable[[], None]
Watch = Callable[[], None]

_LOOK_SECONDS = 0.5
#: Seconds for which a job is retried while its folder is locked.
_BUSY_SECONDS = 10.0

#: The module that silences Dask's log.
QUIET = "dragoman.core.work.quiet"
#: Libraries that would start a thread per core in each process.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def run_all(jobs: Mapping[Name, Job], workers: int, watch: Watch) -> dict[Name, DragomanError]:
    """Run all jobs, a limited number at a time; return the errors of those that failed.

    `watch` is called about twice a second and whenever a job ends. If this is interrupted, so are the jobs.
    """
    # Never a fork of this process, which may have threads.
    context = fork_server(type(job).__module__ for job in jobs.values()) or multiprocessing.get_context("spawn")
    waiting, failed, busy = list(jobs), {}, dict[Name, float]()
    running: dict[Name, tuple[BaseProcess, Connection]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                name = waiting.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(jobs[name], theirs), daemon=True)
                process.start()
                theirs.close()
                running[name] = process, ours
            wait([begun.sentinel for begun, _ in running.values()], _LOOK_SECONDS)
            watch()
            for name, (begun, answer) in list(running.items()):
                if begun.is_alive():
                    continue
                del running[name]
                error = _outcome(begun.exitcode, answer)
                # A process of a killed command may not know that yet, and still be working.
                now = time.monotonic()
                if isinstance(error, BusyError) and now < busy.setdefault(name, now + _BUSY_SECONDS):
                    waiting.append(name)
                elif error is not None:
                    failed[name] = error
    finally:
        for left, _ in running.values():
            left.kill()
            left.join()
    return failed


def fork_server(modules: Iterable[str]) -> ForkServerContext | None:
    """Start a fork server on Linux, which preloads the modules that workers need."""
    if sys.platform != "linux":
        return None
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(sorted(set(modules)))
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        forkserver.ensure_running()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return context


def loaded_by_workers() -> list[str]:
    """Return the modules that local workers are likely to need: Dask, and ours that this process has loaded."""
    commands = ("dragoman.cli", "dragoman.serve")
    ours = (name for name in sys.modules if name.startswith("dragoman.") and not name.startswith(commands))
    return ["distributed.nanny", QUIET, *ours]


def _end_with_parent() -> None:
    """End this process when its parent is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _outcome(code: int | None, pipe: Connection) -> DragomanError | None:
    try:
        found: Any = pickle.loads(pipe.recv_bytes()) if pipe.poll() else None
    except EOFError:
        found = None
    if isinstance(found, DragomanError):
        return found
    if code:
        return DataError(f"a worker ended with code {code}")
    return None


def _work(job: Job, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops us
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        job()
    except DragomanError as error:
        pipe.send_bytes(pickle.dumps(error))


Item = TypeVar("Item")

#: Seconds that a task should take: long relative to its cost, and short for those who wait or lose a worker.
_SECONDS = 1.0
#: Additional seconds per worker, so that the scheduler can keep up with many of them.
_SECONDS_A_WORKER = 0.006


class Bundles(Generic[Item]):
    """Cuts a stream into bundles: single items first, larger bundles of short items, smaller ones towards the end.

    >>> bundles = Bundles(range(20))
    >>> bundles.next(workers=1, room=100)
    [0]
    >>> bundles.took(0.1, 1)
    >>> [bundles.next(workers=1, room=100) for _ in range(2)]
    [[1, 2], [3, 4]]
    >>> bundles.took(0.1, 2)
    >>> [len(bundles.next(workers=1, room=100)) for _ in range(10)]
    [4, 3, 2, 2, 1, 1, 1, 1, 0, 0]
    """

    def __init__(self, items: Iterable[Item]):
        self._stream: Iterator[Item] = iter(items)
        self._waiting = deque[Item]()
        self._size, self._pace = 1, 0.0

    @property
    def waiting(self) -> int:
        """Number of items taken from the stream that are in no bundle yet."""
        return len(self._waiting)

    def next(self, workers: int, room: int) -> list[Item]:
        """Return the next items, at most `room`; none at the end."""
        # Read ahead far enough to see whether the end is near.
        wanted = min(room, 4 * workers * self._size) - len(self._waiting)
        self._waiting.extend(itertools.islice(self._stream, max(0, wanted)))
        share = -(-len(self._waiting) // (4 * workers))
        size = min(self._size, max(1, share), len(self._waiting))
        return [self._waiting.popleft() for _ in range(size)]

    def took(self, seconds: float, items: int, workers: int = 1) -> None:
        """Record the time of a bundle; the next ones are at most twice as large."""
        each = seconds / items
        self._pace = each if self._pace == 0 else (self._pace + each) / 2
        wanted = max(_SECONDS, workers * _SECONDS_A_WORKER) / max(self._pace, 1e-6)
        self._size = max(1, min(max(self._size, 2 * items), int(wanted)))
