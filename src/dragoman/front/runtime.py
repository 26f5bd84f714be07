"""What functions of the front door run on, by their `threads`, `progress` and `cluster`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dragoman.core.live import watcher_of
from dragoman.core.progress import Progress, available_cores
from dragoman.core.runtime import Runtime
from dragoman.core.work.handshake import Needed
from dragoman.core.work.workers import Workers


def runtime_of(threads: int | None = None, progress: Progress | bool = False) -> Runtime:
    """This process, with so many threads, by default as many as there are cores."""
    return Runtime(threads=threads or available_cores(), progress=watcher_of(progress)).here()


@contextlib.contextmanager
def opened_runtime(
    cluster: str | None,
    threads: int | None = None,
    progress: Progress | bool = False,
    *,
    needs: Sequence[Needed] = (),
) -> Iterator[Runtime]:
    """The same, or the workers of a cluster, which must have what the work needs."""
    runtime = runtime_of(threads, progress)
    with Workers.of(cluster, threads=runtime.threads, progress=runtime.progress) as workers:
        workers.require(needs)
        yield replace(runtime, workers=workers)
