"""What work runs on: the same results in the same order, and all that was said, whoever works."""

import contextlib
import threading
from dataclasses import dataclass

import pytest

from dragoman.core.checkpoint import StageCheckpoint
from dragoman.core.errors import DataError
from dragoman.core.progress import DragomanWarning, Progress
from dragoman.core.runtime import Runtime, ThreadWorkers, _RemoteTask
from dragoman.core.workspace import Workspace
from oracles.elsewhere import Elsewhere


class Listening(Progress):
    def __init__(self):
        self.heard = []

    @contextlib.contextmanager
    def stage(self, name):
        self.heard.append(("stage", name))
        yield lambda share: self.heard.append(("share", share))

    def note(self, text):
        self.heard.append(("note", text))

    def warn(self, text):
        self.heard.append(("warn", text))


class Recording(Elsewhere):
    """Knows what it was given: work, and how many items it may have at once."""

    def __init__(self, threads=1):
        super().__init__(threads)
        self.given, self.windows = set(), []

    def map(self, function, items, *, window=None):
        self.given.add(function)
        self.windows.append(window)
        return super().map(function, items, window=window)


def double(number, runtime):
    with runtime.stage("doubling") as share:
        share(0.5)
        runtime.note(f"{number} with {runtime.threads}")
        if number == 1:
            runtime.warn("odd")
    return 2 * number


def refuse(number, runtime):
    raise DataError(f"no {number}")


@dataclass(frozen=True)
class Times:
    factor: int

    def __call__(self, number, runtime):
        assert runtime.parts_at_once == 1
        return self.factor * number


def said(threads):
    return [
        ("note", f"3 with {threads}"),
        ("note", f"1 with {threads}"),
        ("warn", "odd"),
        ("note", f"2 with {threads}"),
    ]


@pytest.mark.parametrize("workers", [ThreadWorkers(3), Elsewhere(3)])
@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_mapped_comes_in_order_and_what_is_said_is_heard(workers, threads):
    heard = Listening()
    runtime = Runtime(threads=threads, progress=heard, workers=workers)
    assert list(runtime.map(double, iter([3, 1, 2]))) == [6, 2, 4]
    assert sorted(heard.heard) == sorted(said(1))  # each item has one thread, and threads may speak in any order
    assert list(runtime.map(Times(5), range(100), window=2)) == [*range(0, 500, 5)]
    assert list(runtime.map(double, [])) == []
    with pytest.raises(DataError, match="no 7"):
        list(runtime.map(refuse, [7, 8]))


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_are_worked_on_in_order_and_what_is_said_is_heard(threads):
    for workers, in_each in ((ThreadWorkers(3), threads), (Elsewhere(3), 1)):
        heard = Listening()
        runtime = Runtime(threads=threads, progress=heard, workers=workers)
        assert list(runtime.map_parts(double, iter([3, 1, 2]))) == [6, 2, 4]
        assert heard.heard == said(in_each)
        with pytest.raises(DataError, match="no 7"):
            list(runtime.map_parts(refuse, [7, 8]))


def test_threads_work_on_items_at_once_and_results_keep_the_order():
    later = threading.Event()

    def work(item, runtime):
        if item == "first":
            assert later.wait(60)
        else:
            later.set()
        return item

    assert list(Runtime(threads=2).map(work, ["first", "second"])) == ["first", "second"]


def test_parts_are_taken_one_after_another():
    taken = []
    found = Runtime(threads=4).map_parts(double, (taken.append(part) or part for part in (1, 2, 3)))
    with pytest.warns(DragomanWarning, match="odd"):
        assert next(found) == 2
    assert taken == [1]
    assert list(found) == [4, 6]


def test_workers_elsewhere_have_several_parts_at_once():
    assert Runtime(threads=8).parts_at_once == Runtime(workers=ThreadWorkers(8)).parts_at_once == 1
    assert Runtime(threads=8).workers.count == 8, "long jobs run in as many processes as there are threads"
    workers = Recording(3)
    runtime = Runtime(workers=workers)
    assert runtime.parts_at_once == 8
    assert list(runtime.map_parts(Times(2), [1])) == list(runtime.map_parts(Times(2), [1], window=5)) == [2]
    assert list(runtime.map(Times(2), [1])) == list(runtime.map(Times(2), [1], window=4)) == [2]
    assert workers.windows == [8, 5, None, 4]


def test_the_same_work_is_one_task():
    workers, work = Recording(), Times(3)
    runtime = Runtime(workers=workers)
    for _ in range(2):
        assert list(runtime.map(work, [1, 2])) == list(runtime.map_parts(work, [1, 2])) == [3, 6]
    assert workers.given == {_RemoteTask(work)}
    assert list(runtime.map(Times(3), [1])) == [3]
    assert len(workers.given) == 2
    assert _RemoteTask(work) != work


def test_what_is_said_goes_to_the_progress():
    heard = Listening()
    runtime = Runtime(progress=heard)
    with runtime.stage("one") as share:
        share(0.25)
    with runtime.counter("two", 4) as more:
        more(2)
    runtime.note("three")
    runtime.warn("four")
    assert heard.heard == [
        ("stage", "one"), ("share", 0.25), ("stage", "two"), ("share", 0.5), ("note", "three"), ("warn", "four")
    ]  # fmt: skip


@pytest.mark.parametrize("warns", [True, False])
def test_a_quiet_one_has_no_stages(warns):
    heard = Listening()
    quiet = Runtime(progress=heard).quiet(warns=warns)
    for runtime in (quiet, quiet.quiet()):
        double(1, runtime)
        with runtime.counter("more", 2) as more:
            more(1)
    assert heard.heard == 2 * [("note", "1 with 1"), ("warn", "odd")][: 2 if warns else 1]


def test_changes_leave_the_rest_as_it_is(tmp_path):
    workspace, checkpoint, heard = Workspace(1 << 30, tmp_path), StageCheckpoint(tmp_path / "kept"), Listening()
    runtime = Runtime(3, heard, workspace, Elsewhere(2), checkpoint)
    for other in (runtime.quiet(), runtime.with_threads(3), runtime.here()):
        assert (other.threads, other.workspace, other.checkpoint) == (3, workspace, checkpoint)
    assert runtime.quiet().workers is runtime.with_threads(5).workers is runtime.workers
    assert runtime.with_threads(5).threads == 5
    assert runtime.with_threads(5).progress is runtime.here().progress is heard


def test_work_that_is_done_here_is_not_sent():
    workers = Recording(2)
    here = Runtime(threads=3, workers=workers).here()
    assert (here.workers.count, here.parts_at_once) == (3, 1)
    assert list(here.map(Times(2), [1, 2])) == list(here.map_parts(Times(2), [1, 2])) == [2, 4]
    assert not workers.given
