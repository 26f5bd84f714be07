"""The runtime of all work: threads or workers, memory and temporary files, checkpoints and progress.

A runtime is made once, at the entry point (a command, a function of the package, the service), and passed on as one
value. Algorithms use `threads` for kernels, `map` and `map_parts` for work that may be sent to workers, `workspace` for
data that may not fit into memory, and `stage`, `note` and `warn` to report. None asks where it runs. Randomness is not
part of it.

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
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from dragoman.core.checkpoint import StageCheckpoint
from dragoman.core.errors import DragomanError, UsageError, version
from dragoman.core.progress import SILENT, PartProgress, Progress, ProgressCallback, ProgressRecorder
from dragoman.core.store import cache_folder
from dragoman.core.work.processes import Job, Name, Watch, fork_server, loaded_by_workers, run_all
from dragoman.core.workspace import Workspace

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
    def on_worker(self) -> Callable[[Input], tuple[Output, ProgressRecorder]]:
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
        for found, told in self.map(task.on_worker, items, window=window):
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


Made = TypeVar("Made")

#: Work on one item of many: a function of a module, or an instance of a class of a module, as workers get it pickled.
Work = Callable[[Item, "Runtime"], Made]


@dataclass(frozen=True, eq=False)
class Runtime:
    """Threads, workers, memory and temporary files, checkpoints and progress, as one value.

    Kernels run on `threads` threads of this process; results do not depend on their number. `workers` do the work that
    is mapped, by default in the same threads. Data that does not fit into the memory of the `workspace` goes to its
    temporary folder. A `checkpoint` stores the results of complete stages, so that killed work can be resumed.

    >>> def double(number, runtime):
    ...     return 2 * number
    >>> list(Runtime(threads=2).map(double, [1, 2, 3]))
    [2, 4, 6]
    """

    threads: int = 1
    progress: Progress = SILENT
    workspace: Workspace = Workspace()
    workers: Workers = None  # type: ignore[assignment]
    checkpoint: StageCheckpoint | None = None

    def __post_init__(self) -> None:
        if self.workers is None:
            object.__setattr__(self, "workers", ThreadWorkers(self.threads))

    @property
    def parts_at_once(self) -> int:
        """Number of parts that `map_parts` has in memory together: one here, or a few more than there are workers."""
        return self.workers.parts_at_once

    @property
    def threads_per_part(self) -> int:
        """Number of threads that work on one part of `map_parts`: all of them here, one on a worker."""
        return self.workers.threads_per_part(self.threads)

    def map(self, work: Work[Item, Made], items: Iterable[Item], *, window: int | None = None) -> Iterator[Made]:
        """Yield the result for each item, in order: items are spread over the threads, or over the workers.

        Each is worked on with one thread. At most `window` items are under way or wait to be taken.
        """
        return self.workers.each(_Task(work, replace(self.quiet(), threads=1)), items, self.threads, window)

    def map_parts(self, work: Work[Item, Made], parts: Iterable[Item], *, window: int | None = None) -> Iterator[Made]:
        """Yield the result for each part, in order: here one after another with all threads, or on the workers.

        For parts that are large, of which `parts_at_once` (or `window`, for workers) are in memory together.
        """
        return self.workers.in_turn(_Task(work, self.quiet()), parts, window)

    def stage(self, name: str) -> AbstractContextManager[ProgressCallback]:
        """Begin a stage of the work; yield a callback for the fraction done, from 0 to 1."""
        return self.progress.stage(name)

    def counter(
        self, name: str, total: int | None, unit: str = "sentences"
    ) -> AbstractContextManager[Callable[[int], None]]:
        """Begin a stage of `total` things, if that is known; yield a function that takes how many more are done."""
        return self.progress.counter(name, total, unit)

    def note(self, text: str) -> None:
        """Show a message."""
        self.progress.note(text)

    def warn(self, text: str) -> None:
        """Warn that something was skipped, repaired or odd."""
        self.progress.warn(text)

    def quiet(self, *, warns: bool = True) -> Runtime:
        """Return the same runtime without stages: for work inside a stage, or one part of many.

        Notes and warnings are still passed on, unless `warns` is False.
        """
        if warns and isinstance(self.progress, PartProgress):
            return self
        return replace(self, progress=PartProgress(self.progress, warns=warns))

    def with_threads(self, threads: int) -> Runtime:
        """Return the same runtime with another number of threads."""
        return replace(self, threads=threads)

    def here(self) -> Runtime:
        """Return the same runtime without its workers: for work that is too small to be sent."""
        return replace(self, workers=ThreadWorkers(self.threads))


@dataclass(frozen=True, eq=False)
class _Task(Generic[Item, Made]):
    """Work together with the runtime of this process."""

    work: Work[Item, Made]
    runtime: Runtime

    @property
    def on_worker(self) -> _RemoteTask[Item, Made]:
        """The same work, as it is sent to workers."""
        return _RemoteTask(self.work)

    def __call__(self, item: Item) -> Made:
        return self.work(item, self.runtime)

    def stop(self) -> None:
        """Stop the work, if it has such a method, because its result is no longer needed."""
        getattr(self.work, "stop", int)()

    def replay(self, messages: ProgressRecorder) -> None:
        """Show the messages of a worker here."""
        messages.replay(self.runtime.progress)


@dataclass(frozen=True, eq=False)
class _RemoteTask(Generic[Item, Made]):
    """Work on a worker, which returns its messages too; equal for the same work, which is then sent once."""

    work: Work[Item, Made]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _RemoteTask) and other.work is self.work

    def __hash__(self) -> int:
        return id(self.work)

    def __call__(self, item: Item) -> tuple[Made, ProgressRecorder]:
        recorder = ProgressRecorder()
        return self.work(item, Runtime(progress=recorder)), recorder
