"""Work on a cluster: the same as in threads, whoever is lost on the way, and refused where it cannot be done."""

import asyncio
import os
import signal
import sys
import time
import tracemalloc
from functools import partial
from pathlib import Path

import cloudpickle
import distributed
import pytest

from dragoman.core.errors import BusyError, DataError, UsageError
from dragoman.core.runtime import RequiredFile, ThreadWorkers, Workers
from dragoman.core.store import digest_file
from dragoman.core.work import cluster as clusters
from dragoman.core.work.cluster import ClusterWorkers

# Workers cannot import this file: what it defines goes to them as a whole.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

pytestmark = [pytest.mark.slow, pytest.mark.needs_threads]


@pytest.fixture(scope="module")
def local():
    with Workers.of("local:2") as workers:
        yield workers


@pytest.fixture
def scheduler():
    """A scheduler with one worker, both in this process: enough for those who are turned away."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", protocol="tcp"
    ) as running:
        yield running


def kill_one(workers):
    """Kill one of the workers, when there is one."""
    running = workers._cluster.scheduler.workers
    while not (pids := [n.pid for n in workers._cluster.workers.values() if n.pid and n.worker_address in running]):
        time.sleep(0.01)
    os.kill(pids[0], signal.SIGKILL)


def doubled(item):
    time.sleep(0.02)
    return 2 * item


def test_strangers_are_not_heard(local):
    """A local cluster listens at a port, but only to who has the key that was made for it."""
    address = local._cluster.scheduler_address
    assert address.startswith("tls://127.0.0.1:")
    for security in (None, distributed.Security.temporary()):
        other = address if security else address.replace("tls://", "tcp://")
        with pytest.raises((OSError, TypeError, ValueError)):
            distributed.Client(other, security=security, timeout=2, set_as_default=False)
    assert list(local.map(doubled, [1, 2])) == [2, 4]


def test_what_was_sent_is_forgotten(local):
    """Dask keeps messages for those who look for its faults, here and where the scheduler is: here that is one."""
    tracemalloc.start()
    try:
        assert sum(local.map(len, (os.urandom(300_000) for _ in range(100)), window=4)) == 30_000_000
        assert tracemalloc.get_traced_memory()[0] < 10_000_000
    finally:
        tracemalloc.stop()


class Table:
    """A function that is too large to go with each item."""

    def __init__(self):
        self.values = os.urandom(clusters._LARGE_BYTES)

    def __call__(self, item):
        time.sleep(0.02)
        return self.values[item]


def test_results_are_those_of_threads_in_the_same_order(local):
    items = [3, -1, 2, -7] * 5
    with ThreadWorkers(2) as threads:
        assert list(local.map(abs, iter(items))) == list(threads.map(abs, iter(items))) == [abs(i) for i in items]


@pytest.mark.parametrize("kind", ["threads", "cluster"])
def test_no_more_is_taken_than_the_window_allows(local, kind):
    taken = []

    def items():
        for i in range(20):
            taken.append(i)
            yield i

    found = (local if kind == "cluster" else ThreadWorkers(2)).map(abs, items(), window=4)
    assert next(found) == 0
    assert len(taken) == 4
    assert next(found) == 1
    assert len(taken) == 5
    found.close()


@pytest.mark.parametrize("function", [doubled, Table()])
def test_the_work_of_a_killed_worker_is_done_by_others(local, function):
    found = local.map(function, range(20), window=8)
    first = [next(found) for _ in range(3)]
    kill_one(local)
    assert [*first, *found] == [function(i) for i in range(20)]


def fail(item):
    raise DataError(f"found {item}", path="file", line=3, expected="nothing")


def test_errors_come_back_as_they_are(local):
    with pytest.raises(DataError, match=r"file:3: found 1; expected nothing") as caught:
        list(local.map(fail, [1, 2]))
    assert (caught.value.path, caught.value.line) == ("file", 3)


def odd_fails(item):
    if item == 13:
        raise DataError(f"found {item}")
    return item


def test_what_comes_before_an_error_comes_first_however_items_are_sent(local):
    found = local.map(odd_fails, iter(range(100)))
    assert [next(found) for _ in range(13)] == [*range(13)]
    with pytest.raises(DataError, match="found 13"):
        next(found)


def test_short_items_go_out_together(local, monkeypatch):
    tasks = []
    submit = ClusterWorkers._submit
    monkeypatch.setattr(ClusterWorkers, "_submit", lambda self, *given: (tasks.append(1), submit(self, *given))[1])
    assert list(local.map(abs, range(2000))) == [*range(2000)]
    assert len(tasks) < 200


def die(item):
    os.kill(os.getpid(), signal.SIGKILL)


def test_work_that_ends_every_worker_is_given_up(local, monkeypatch):
    local._client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    with pytest.raises(DataError, match=r"a piece of the work ended \d workers of local:2"):
        list(local.map(die, [1]))
    local._client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 3))


def note(path):
    time.sleep(0.1)
    path.write_text(str(Path.cwd()))


def refuse(path):
    if path.exists():
        path.write_text("done")
        return
    path.write_text("begun")
    raise BusyError("is being worked on", path=path)


def test_jobs_are_done_where_the_command_was_given_and_errors_are_theirs(local, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jobs = {str(i): partial(note, Path(f"note{i}")) for i in range(3)}
    looks = []
    jobs |= {"wrong": partial(fail, 7), "busy": partial(refuse, tmp_path / "busy")}
    failed = local.run_all(jobs, lambda: looks.append(1))
    assert {name: str(error) for name, error in failed.items()} == {"wrong": "file:3: found 7; expected nothing"}
    assert {(tmp_path / f"note{i}").read_text() for i in range(3)} == {str(tmp_path)}
    assert (tmp_path / "busy").read_text() == "done"
    assert len(looks) > 2


def test_workers_that_lack_something_are_named_and_refused(scheduler, tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("here")
    need = RequiredFile.of(file, digest_file)
    worker = scheduler.workers[0].address
    with Workers.of(scheduler.scheduler_address) as workers:
        workers.require([need])
        file.write_text("changed")
        with pytest.raises(DataError, match=f"the worker {worker} has something else at {file}; expected the same"):
            workers.require([need])
        file.unlink()
        with pytest.raises(DataError, match=f"the worker {worker} has no {file}"):
            workers.require([need])
        monkeypatch.setattr(clusters, "version", lambda: "9.9")
        with pytest.raises(DataError, match=f"the worker {worker} has Dragoman [0-9.]+, and this is 9.9; expected the"):
            workers.require([])


def test_a_worker_that_comes_late_and_lacks_something_gets_no_work(scheduler, tmp_path):
    file = tmp_path / "file"
    file.write_text("here")
    with Workers.of(scheduler.scheduler_address) as workers:
        workers.require([RequiredFile.of(file, digest_file)])
        scheduler.scale(2)
        workers._client.wait_for_workers(2)
        file.unlink()
        assert workers._client.sync(_joined, scheduler.scheduler_address) == "closed"
        assert len(workers._client.nthreads()) == 2
    # Nobody is looked at any more when the work is over.
    with Workers.of(scheduler.scheduler_address) as workers:
        assert workers._client.sync(_joined, scheduler.scheduler_address) == "running"


async def _joined(address):
    """What becomes of a worker that joins, within a moment."""
    async with distributed.Worker(address, nthreads=1) as worker:
        for _ in range(50):
            if worker.status.name == "closed":
                break
            await asyncio.sleep(0.01)
        return worker.status.name


def test_a_folder_that_is_sent_is_unpacked_once_for_all(scheduler, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "deep" / "file").write_text("text")
    need = RequiredFile.of(tmp_path / "folder", read_folder, send=True)
    (tmp_path / "folder").rename(tmp_path / "elsewhere")
    with Workers.of(scheduler.scheduler_address) as workers:
        workers.require([need])
        workers.require([need])
    (sent,) = (tmp_path / "cache" / "dragoman" / "sent").iterdir()
    assert (sent / "deep" / "file").read_text() == "text"


def read_folder(folder):
    return digest_file(folder / "deep" / "file")


def test_a_scheduler_that_goes_away_is_said(scheduler):
    with Workers.of(scheduler.scheduler_address, patience=1) as workers:
        found = workers.map(doubled, range(100), window=4)
        next(found)
        scheduler.close()
        with pytest.raises(DataError, match=r"the scheduler of tcp://\S+ went away; what is done is kept"):
            list(found)
        with pytest.raises(DataError, match="went away"):
            workers.run_all({"job": partial(doubled, 1)}, lambda: None)


def test_nobody_at_an_address_is_said_in_time():
    with pytest.raises(DataError, match=r"nobody answers at tcp://127.0.0.1:1 within 0.3 seconds"):
        Workers.of("tcp://127.0.0.1:1", patience=0.3)


def test_a_scheduler_without_workers_is_said_in_time(scheduler):
    scheduler.scale(0)
    with pytest.raises(DataError, match=r"the cluster at tcp://\S+ has no workers"):
        ClusterWorkers.at(scheduler.scheduler_address, 2)


@pytest.mark.parametrize("where", ["local:0", "local:many", "host:8786", "slurm"])
def test_what_is_no_place_is_refused(where):
    with pytest.raises(UsageError, match=f"the cluster is '{where}'; expected local:N"):
        Workers.of(where)
