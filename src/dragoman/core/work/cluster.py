"""Workers of a Dask cluster: processes of this machine, those of a running scheduler, or jobs of a queue.

Dask reassigns the work of a lost worker, and accepts workers that join late. A function is sent with its data; a large
one is sent once to each worker, as the result of a task, so that it can be computed again if a worker that had it is
lost.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import pickle
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from dragoman.core.errors import BusyError, DataError, DragomanError, UsageError, version
from dragoman.core.progress import SILENT, Progress
from dragoman.core.runtime import Found, Item, RequiredFile, Workers, unfit
from dragoman.core.work.processes import ONE_THREAD, QUIET, Bundles, Job, Name, Watch, fork_server, loaded_by_workers

try:
    import cloudpickle
    import dask
    import distributed
except ImportError:
    raise UsageError("a cluster needs Dask; expected that you install it: pip install 'dragoman[cluster]'") from None

Answer = TypeVar("Answer")

#: Larger pickled functions are a task of their own, which workers get from each other; smaller ones go with each item.
_LARGE_BYTES = 1 << 16

_LOOK_SECONDS = 0.5
#: Seconds until a worker that the scheduler has given up stops working on a folder.
_BUSY_SECONDS = 300.0
#: Seconds to wait for a result before the cluster is checked.
_WAIT_SECONDS = 5.0
#: Seconds without workers before a note is shown.
_LONELY_SECONDS = 30.0

_PLUGIN = "dragoman"

_SETTINGS = {
    # Mapped models look like used memory.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.large-graph-warning-threshold": "1TB",
    # Profiles and dashboards are useless for workers that end with the command.
    "distributed.worker.profile.enabled": False,
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
    "distributed.diagnostics.nvml": False,
    # Otherwise each side keeps a thousand messages of up to a megabyte: the work of minutes, twice.
    "distributed.admin.low-level-log-length": 10,
    # Self-monitoring fifty times a second would take a few percent of each process.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "10s",
    "distributed.admin.system-monitor.interval": "10s",
    # Dask's default also makes workers release memory all the time, which costs up to a quarter of a search.
    "distributed.nanny.pre-spawn-environ": ONE_THREAD,
    "distributed.comm.retry.count": 3,
    # A killed process restarts by itself, which may take long on a busy machine.
    "distributed.deploy.lost-worker-timeout": "120s",
}


class ClusterWorkers(Workers):
    """Workers of a Dask client; `cluster` was started for it, if anything, with `processes` processes here."""

    def __init__(self, client: Any, cluster: Any, name: str, progress: Progress = SILENT, *, processes: int = 0):
        self._client, self._cluster, self._name, self._progress = client, cluster, name, progress
        self._processes = processes
        self._counted, self._count = 0.0, 0
        self._seen = time.monotonic()
        self._last: tuple[Any, Any] = None, None

    @classmethod
    def local(cls, processes: int, progress: Progress = SILENT) -> ClusterWorkers:
        """Start processes on this machine, with one thread each."""
        _settle()
        if fork_server(loaded_by_workers()) is not None:
            dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
            distributed.utils._forkserver_preload_set = True  # otherwise it loads all plugins, here as well
        cluster = distributed.LocalCluster(
            n_workers=processes,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # no dashboard, which would need a port that may be in use
            memory_limit=0,
            silence_logs=logging.CRITICAL,
            **private_connection(),
        )
        client = distributed.Client(cluster, set_as_default=False, direct_to_workers=True)
        return cls(client, cluster, f"local:{processes}", progress, processes=processes)

    @classmethod
    def at(cls, address: str, patience: float, progress: Progress = SILENT) -> ClusterWorkers:
        """Connect to the scheduler at an address, which must answer and have workers in time."""
        _settle()
        try:
            client = distributed.Client(address, timeout=patience, set_as_default=False)
        except (OSError, ValueError) as error:
            why = "" if isinstance(error, OSError) else f" ({error})"
            raise DataError(
                f"nobody answers at {address} within {patience:g} seconds{why}",
                expected="the address of a Dask scheduler that runs",
            ) from None
        found = cls(client, None, address, progress)
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            found.close()
            raise DataError(f"the cluster at {address} has no workers", expected="some within that time") from None
        return found

    @classmethod
    def queued(cls, path: str, progress: Progress = SILENT) -> ClusterWorkers:
        """Submit jobs to a queue that a file describes, and wait for the first of them as long as the queue takes."""
        from dragoman.core.work.job_queue import JobQueue

        queue = JobQueue.read(path)
        _settle()
        cluster = queue.cluster(private_connection())
        cluster.scale(jobs=queue.jobs)
        client = distributed.Client(cluster, set_as_default=False)
        progress.note(f"{queue.jobs} jobs were submitted to {queue.queue}; waiting for the first worker")
        client.wait_for_workers(1)
        return cls(client, cluster, path, progress)

    @property
    def count(self) -> int:
        """Total number of threads of the workers, at most a second old."""
        now = time.monotonic()
        if now - self._counted > 1:
            self._count, self._counted = sum(self._asked(self._client.nthreads).values()), now
        return max(1, self._count)

    def map(
        self, function: Callable[[Item], Found], items: Iterable[Item], *, window: int | None = None
    ) -> Iterator[Found]:
        """Yield the result of a function for each item, in order."""
        packed = self._packed(function)
        bundles, flying, under_way = Bundles(items), deque[tuple[Any, list[Item]]](), 0
        try:
            while True:
                while len(flying) < 2 * self.count + 2:
                    room = sys.maxsize if window is None else window - under_way
                    sent = bundles.next(self.count, room)
                    if not sent:
                        break
                    flying.append((self._submit(_called, packed, _pickled(sent)), sent))
                    under_way += len(sent)
                if not flying:
                    return
                future, sent = flying[0]
                seconds, found = self._result(future)
                flying.popleft()
                future.release()
                bundles.took(seconds, len(found), self.count)
                if rest := sent[len(found) :]:  # the first of which failed: its error is raised in its turn
                    flying.appendleft((self._submit(_called, packed, _pickled(rest)), rest))
                for one in found:
                    yield pickle.loads(one)
                    under_way -= 1
        finally:
            self._forget(future for future, _ in flying)

    def _packed(self, function: Callable[[Any], Any]) -> Any:
        """Return a function as it is sent: itself, or a future; the last one is remembered, for many short maps."""
        known, packed = self._last
        if known != function:
            packed = cloudpickle.dumps(function)
            if len(packed) > _LARGE_BYTES:
                packed = self._submit(_itself, packed)
            self._last = function, packed
        return packed

    def run_all(self, jobs: Mapping[Name, Job], watch: Watch, *, threads: int = 1) -> dict[Name, DragomanError]:
        """Run jobs, as many at a time as there are workers."""
        waiting, busy = deque(jobs), dict[Name, float]()
        failed: dict[Name, DragomanError] = {}
        running: dict[Name, Any] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.count:
                    name = waiting.popleft()
                    running[name] = self._submit(_done, Path.cwd(), cloudpickle.dumps(jobs[name]))
                self._first_of(list(running.values()))
                watch()
                for name in [name for name, future in running.items() if future.done()]:
                    try:
                        self._result(running.pop(name))
                    except BusyError as error:
                        # A lost worker may not know that yet, and still be working.
                        if time.monotonic() - busy.setdefault(name, time.monotonic()) > _BUSY_SECONDS:
                            failed[name] = error
                        else:
                            waiting.append(name)
                            time.sleep(_LOOK_SECONDS)
                    except _SchedulerGoneError:
                        raise
                    except DragomanError as error:
                        failed[name] = error
        finally:
            self._forget(running.values())
        return failed

    def require(self, needs: Sequence[RequiredFile]) -> None:
        """Refuse workers that cannot do the work, now and when they join later."""
        found = self._asked(self._client.run, unfit, version(), tuple(needs), on_error="return")
        for address, wrong in found.items():
            if isinstance(wrong, ImportError):
                wrong = f"has no Dragoman ({wrong})"
            elif isinstance(wrong, BaseException):
                wrong = f"cannot be asked ({type(wrong).__name__}: {wrong})"
            if wrong is not None:
                raise DataError(
                    f"the worker {address} {wrong}", expected="the same version and the same files on all workers"
                )
        self._asked(self._client.register_plugin, _Handshake(version(), tuple(needs)), _PLUGIN)

    def close(self) -> None:
        """Leave the cluster, and stop it if it was started here."""
        self._last = None, None
        with contextlib.suppress(Exception):  # a scheduler that is gone needs no farewell
            if self._cluster is None and self._client.status == "running":
                self._client.unregister_worker_plugin(_PLUGIN)
        for part in (self._client, self._cluster):
            if part is not None:
                with contextlib.suppress(TimeoutError, OSError):
                    part.close()

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._asked(self._client.submit, function, *arguments, pure=False)

    def _first_of(self, futures: Sequence[Any]) -> None:
        """Wait a moment for one of the futures to end."""
        with contextlib.suppress(TimeoutError), self._client.as_current():
            distributed.wait(futures, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED")
        self._look_for_somebody()

    def _result(self, future: Any) -> Any:
        while True:
            try:
                return future.result(timeout=_WAIT_SECONDS)
            except TimeoutError:
                if future.status == "error":  # an error of the work itself
                    raise
                self._look_for_somebody()
            except distributed.KilledWorker:
                raise DataError(
                    f"a piece of the work ended {dask.config.get('distributed.scheduler.allowed-failures') + 1} workers"
                    f" of {self._name}, one after another"
                ) from None
            except (distributed.client.FutureCancelledError, OSError) as error:
                if isinstance(error, OSError) and self._client.status == "running":
                    raise
                raise self._gone() from None

    def _look_for_somebody(self) -> None:
        """Show a note if there have been no workers for a while; new ones continue the work."""
        if self._client.status != "running":
            raise self._gone()
        self._counted = 0.0
        now = time.monotonic()
        if self.count and self._count < self._processes:
            self._cluster.scale(self._processes)  # a process that ended before it was ready would not be restarted
        if self._count:
            self._seen = now
        elif now - self._seen > _LONELY_SECONDS:
            self._seen = now
            self._progress.note(f"{self._name} has no workers; the work goes on when there are some")

    def _asked(self, question: Callable[..., Answer], *arguments: Any, **named: Any) -> Answer:
        """Query the scheduler."""
        try:
            return question(*arguments, **named)
        except (OSError, RuntimeError, AttributeError):
            if self._client.status == "running":
                raise
            raise self._gone() from None

    def _gone(self) -> DataError:
        return _SchedulerGoneError(
            f"the scheduler of {self._name} went away; what is done is kept, and the same command goes on from there"
        )

    def _forget(self, futures: Iterable[Any]) -> None:
        left = list(futures)
        if left and self._client.status == "running":
            with contextlib.suppress(Exception):  # they are not needed any more
                self._client.cancel(left)


class _SchedulerGoneError(DataError):
    """The scheduler is gone."""


#: Addresses of workers of this process that are leaving because they cannot do the work.
_LEAVING: set[str] = set()


class _Handshake(distributed.WorkerPlugin):  # type: ignore[misc]
    """Dask plugin that turns away workers that join later and cannot do the work."""

    def __init__(self, wanted: str, needs: tuple[RequiredFile, ...]):
        self._wanted, self._needs = wanted, needs

    def setup(self, worker: Any) -> None:
        """Check a worker."""
        wrong = unfit(self._wanted, self._needs)
        if wrong is not None:
            _LEAVING.add(worker.address)
            worker.loop.add_callback(worker.close, nanny=True, reason=f"it {wrong}")


def private_connection() -> dict[str, Any]:
    """Return security settings of a cluster that accepts only connections of its own processes.

    Both sides of each connection present a certificate that is made for the cluster. It is never written to disk or,
    for jobs of a queue, only to a folder that only the user can read. Without it, everybody who can reach a port of
    this machine could send code to run.
    """
    try:
        return {"security": distributed.Security.temporary(), "protocol": "tls://"}
    except ImportError:
        raise UsageError(
            "a cluster needs cryptography; expected that you install it: pip install 'dragoman[cluster]'"
        ) from None


def _settle() -> None:
    """Configure Dask, and silence its log."""
    dask.config.set(_SETTINGS)
    importlib.import_module(QUIET)


@lru_cache(maxsize=4)
def _unpacked(packed: bytes) -> Callable[[Any], Any]:
    """Return a function that was sent; the same object for all items, so that it can cache what it prepares."""
    function: Callable[[Any], Any] = pickle.loads(packed)
    return function


def _itself(packed: bytes) -> bytes:
    return packed


def _pickled(value: Any) -> bytes:
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def _called(packed: bytes, items: bytes) -> tuple[float, list[bytes]]:
    """Call a function for some items; return the time, the results before the first failure, and the error.

    Both sides pickle by themselves, because arrays that Dask hands over are read-only.
    """
    _refuse_if_leaving()
    begin, found = time.perf_counter(), list[bytes]()
    function = _unpacked(packed)
    for item in pickle.loads(items):
        try:
            found.append(_pickled(function(item)))
        except Exception:
            if not found:
                raise
            break
    return time.perf_counter() - begin, found


def _done(folder: Path, packed: bytes) -> None:
    """Run a long job, whose paths may be relative to a folder."""
    _refuse_if_leaving()
    if Path.cwd() != folder:
        os.chdir(folder)
    pickle.loads(packed)()


def _refuse_if_leaving() -> None:
    """Return work that came before a worker could leave."""
    if distributed.get_worker().address in _LEAVING:
        raise distributed.Reschedule
