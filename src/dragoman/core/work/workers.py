"""Executors: threads of this process, or Dask workers near and far. Callers need not know which.

Parts of the work are pure functions of their input, or write complete files under names of their own, so that work that
is done twice, because a worker was lost, counts once. Randomness must not depend on the worker.
"""

from __future__ import annotations

import io
import itertools
import re
import shutil
import tarfile
import tempfile
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, Self, TypeVar

from dragoman.core.checksums import cache_folder
from dragoman.core.errors import DragomanError, UsageError, version
from dragoman.core.progress import SILENT, Progress, ProgressRecorder
from dragoman.core.work.processes import Job, Name, Watch, fork_server, loaded_by_workers, run_all

_SENT = "sent"


def pack_folder(folder: Path) -> bytes:
    """Return an archive of all files of a folder."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.add(folder, arcname=".")
    return stream.getvalue()


def keep_sent(digest: str, files: bytes) -> None:
    """Unpack a folder, unless it is there already; several processes of a machine may do so at the same time."""
    place = _place(digest)
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=place.parent))
    try:
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            archive.extractall(partial, filter="data")
        partial.rename(place)
    except OSError:
        if not place.exists():  # otherwise another process was faster
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def place_of(path: Path, digest: str) -> Path:
    """Return the place of a folder on this machine: its path, or where it was unpacked."""
    sent = _place(digest)
    return sent if sent.exists() else path


def _place(digest: str) -> Path:
    return cache_folder() / _SENT / digest


@dataclass(frozen=True)
class RequiredFile:
    """A file or folder that workers read, by its absolute path; `read` returns a digest of its contents.

    It is on a shared file system, or it was `sent`: then each machine unpacks it into its cache.
    """

    path: Path
    digest: str
    read: Callable[[Path], str]
    sent: bytes | None = None

    @classmethod
    def of(cls, path: Path, read: Callable[[Path], str], *, send: bool = False) -> RequiredFile:
        """Describe a file on this machine; with `send`, a folder is packed for workers that cannot see it."""
        found = path.absolute()
        return cls(found, read(found), read, pack_folder(found) if send else None)

    def missing(self) -> str | None:
        """Return what is wrong with it on this machine, or None."""
        if self.sent is not None:
            keep_sent(self.digest, self.sent)
        place = place_of(self.path, self.digest)
        if not place.exists():
            return f"has no {place}"
        try:
            found = self.read(place)
        except (DragomanError, OSError) as error:
            return f"cannot read {place} ({error})"
        return None if found == self.digest else f"has something else at {place}"


def unfit(wanted: str, needs: Sequence[RequiredFile]) -> str | None:
    """Return why this process cannot do the work, or None."""
    if version() != wanted:
        return f"has Dragoman {version()}, and this is {wanted}"
    return next((wrong for need in needs if (wrong := need.missing()) is not None), None)


Item = TypeVar("Item")
Found = TypeVar("Found")
Input = TypeVar("Input", contravariant=True)
Output = TypeVar("Output", covariant=True)

_LOCAL = re.compile(r"local:([1-9][0-9]{0,3})")
_ADDRESS = re.compile(r"[a-z]+://\S+")


class WorkItem(Protocol[Input, Output]):
    """Work on one item of many, here, or on a worker as `remote`, which also returns its messages."""

    @property
    def remote(self) -> Callable[[Input], tuple[Output, ProgressRecorder]]:
        """The same work, as it is sent to workers."""

    def __call__(self, item: Input, /) -> Output:
        """Do the work in this process."""

    def replay(self, told: ProgressRecorder) -> None:
        """Show the messages of a worker here."""


class Workers(ABC):
    """Executor of work in parts; a context manager, at whose end workers that were started for it are stopped."""

    @classmethod
    def of(
        cls, where: str | None = None, *, threads: int = 1, patience: float = 10.0, progress: Progress = SILENT
    ) -> Workers:
        """Return the workers at a place: `threads`, `local:4`, `tcp://host:port`, or a TOML file for a job queue.

        The latter three need Dask. `patience` is the time limit for an answer, in seconds.

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
            fork_server(loaded_by_workers())  # loads the modules of workers while this process loads its own
        from dragoman.core.work.cluster import ClusterWorkers

        if local:
            return ClusterWorkers.local(int(local[1]), progress)
        if _ADDRESS.fullmatch(where):
            return ClusterWorkers.at(where, patience, progress)
        return ClusterWorkers.queued(where, progress)

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of parts that can be worked on at a time now."""

    def threads_of(self, jobs: int) -> int:
        """Return the number of threads that each of some long jobs may use."""
        return 1

    @abstractmethod
    def map(
        self, function: Callable[[Item], Found], items: Iterable[Item], *, window: int | None = None
    ) -> Iterator[Found]:
        """Yield the result of a function for each item, in order, as it becomes known.

        At most `window` items are in progress or wait to be taken, by default a few more than there are workers. The
        function is one of a module, or an instance of a class of a module, because it is pickled.
        """

    @property
    def parts_at_once(self) -> int:
        """Number of large parts that are in memory together: a few more than there are workers."""
        return 2 * self.count + 2

    def threads_per_part(self, threads: int) -> int:
        """Number of threads that work on a large part, if this process has `threads`: one on a worker."""
        return 1

    def each(
        self, task: WorkItem[Item, Found], items: Iterable[Item], threads: int, window: int | None
    ) -> Iterator[Found]:
        """Yield the result of a task for each item, in order; items are spread over workers, or here over `threads`."""
        for found, told in self.map(task.remote, items, window=window):
            task.replay(told)
            yield found

    def in_turn(self, task: WorkItem[Item, Found], parts: Iterable[Item], window: int | None) -> Iterator[Found]:
        """Yield the result of a task for each large part, in order; on workers, or here one after another."""
        return self.each(task, parts, 1, window or self.parts_at_once)

    @abstractmethod
    def run_all(self, jobs: Mapping[Name, Job], watch: Watch, *, threads: int = 1) -> dict[Name, DragomanError]:
        """Run long jobs in processes of their own, with `threads` threads each; return the errors by job.

        `watch` is called about twice a second and whenever a job ends. If this is interrupted, so are the jobs.
        """

    @abstractmethod
    def require(self, needs: Sequence[RequiredFile]) -> None:
        """Refuse workers of another version, or without a file that the work needs; each is named."""

    @abstractmethod
    def close(self) -> None:
        """Stop the workers that were started for this."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ThreadWorkers(Workers):
    """Threads of this process, and separate processes for long jobs."""

    parts_at_once = 1

    def __init__(self, threads: int = 1):
        self._threads = threads

    @property
    def count(self) -> int:
        """Number of threads."""
        return self._threads

    def threads_of(self, jobs: int) -> int:
        """Return an equal share of the threads for each job that runs at a time."""
        return max(1, self._threads // max(1, min(self._threads, jobs)))

    def map(
        self, function: Callable[[Item], Found], items: Iterable[Item], *, window: int | None = None
    ) -> Iterator[Found]:
        """Yield the result of a function for each item, in order."""
        return _in_threads(function, items, self._threads, window)

    def threads_per_part(self, threads: int) -> int:
        """Return the number of all threads."""
        return threads

    def each(
        self, task: WorkItem[Item, Found], items: Iterable[Item], threads: int, window: int | None
    ) -> Iterator[Found]:
        """Yield the result of a task for each item, in order."""
        return map(task, items) if threads == 1 else _in_threads(task, items, threads, window)

    def in_turn(self, task: WorkItem[Item, Found], parts: Iterable[Item], window: int | None) -> Iterator[Found]:
        """Yield the result of a task for each part, in order, one after another."""
        return map(task, parts)

    def run_all(self, jobs: Mapping[Name, Job], watch: Watch, *, threads: int = 1) -> dict[Name, DragomanError]:
        """Run jobs in as many processes as there are threads."""
        return run_all(jobs, max(1, self._threads // threads), watch)

    def require(self, needs: Sequence[RequiredFile]) -> None:
        """Do nothing: this process has all files."""

    def close(self) -> None:
        """Do nothing: threads and processes end with their work."""


def _in_threads(
    function: Callable[[Item], Found], items: Iterable[Item], threads: int, window: int | None
) -> Iterator[Found]:
    """Yield the result of a function for each item, in order; at most `window` are in progress or wait to be taken."""
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
        getattr(function, "stop", int)()  # otherwise it would wait for all work in progress
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
