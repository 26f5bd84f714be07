"""The runtime of all work: threads or workers, memory and temporary files, checkpoints and progress.

A runtime is made once, at the entry point (a command, a function of the package, the service), and passed on as one
value. Algorithms use `threads` for kernels, `map` and `map_parts` for work that may be sent to workers, `workspace` for
data that may not fit into memory, and `stage`, `note` and `warn` to report. None asks where it runs. Randomness is not
part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from dragoman.core.checkpoint import StageCheckpoint
from dragoman.core.progress import SILENT, PartProgress, Progress, ProgressCallback, ProgressRecorder
from dragoman.core.work.workers import ThreadWorkers, Workers
from dragoman.core.workspace import Workspace

Item = TypeVar("Item")
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
    workspace: Workspace = field(default_factory=Workspace)
    workers: Workers = ThreadWorkers()
    checkpoint: StageCheckpoint | None = None

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
    def remote(self) -> _RemoteTask[Item, Made]:
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
