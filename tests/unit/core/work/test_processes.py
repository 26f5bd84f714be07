"""Jobs in processes of their own: all are done, failures come back, and nobody is left behind."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from dragoman.core.errors import BusyError, DataError
from dragoman.core.work.processes import run_all


def note(path):
    path.write_text(str(os.getpid()))


def note_parent(path):
    path.write_text(str(os.getppid()))


def fail(text):
    raise DataError(text, path="file", line=3)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_all_jobs_are_done_whatever_happens_to_some(tmp_path):
    jobs = {f"note{i}": partial(note, tmp_path / str(i)) for i in range(3)}
    looks = []
    failed = run_all({"fail": partial(fail, "wrong"), "die": die, **jobs}, 2, lambda: looks.append(1))
    assert {name: str(error) for name, error in failed.items()} == {
        "fail": "file:3: wrong",
        "die": "a worker ended with code -9",
    }
    assert len({(tmp_path / str(i)).read_text() for i in range(3)}) == 3
    assert looks


def busy_once(path):
    if not path.exists():
        note(path)
        raise BusyError("is being worked on", path=path)
    path.with_suffix(".done").touch()


def test_a_job_whose_folder_is_busy_is_tried_again(tmp_path):
    assert run_all({"job": partial(busy_once, tmp_path / "job")}, 1, lambda: None) == {}
    assert (tmp_path / "job.done").exists()


def test_processes_come_from_one_process_that_has_loaded_what_they_need(tmp_path):
    run_all({i: partial(note_parent, tmp_path / str(i)) for i in range(3)}, 2, lambda: None)
    parents = {(tmp_path / str(i)).read_text() for i in range(3)}
    assert len(parents) == 1
    # Other systems than Linux have no such process: each worker is a child of this one and loads all by itself.
    assert (parents != {str(os.getpid())}) == (sys.platform == "linux")


LONG = """
import sys, time
from functools import partial
from pathlib import Path
from dragoman.core.work.processes import run_all
sys.path.insert(0, {here!r})
import test_processes
if __name__ == "__main__":
    run_all({{"long": partial(test_processes.sleep, Path({path!r}))}}, 1, lambda: None)
"""


def sleep(path):
    note(path)
    time.sleep(60)


def test_jobs_end_when_the_parent_is_killed(tmp_path):
    path = tmp_path / "pid"
    script = tmp_path / "script.py"
    script.write_text(LONG.format(here=str(Path(__file__).parent), path=str(path)))
    parent = subprocess.Popen([sys.executable, script])
    while not (path.exists() and path.read_text()):
        assert parent.poll() is None
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    worker = int(path.read_text())
    for _ in range(500):
        if not alive(worker):
            return
        time.sleep(0.02)
    raise AssertionError("the worker goes on")


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False
