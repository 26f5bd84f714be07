"""Keep tests apart: run one in a fork of this process, and tell what still runs after others."""

import os
import pickle
import threading
import time
import traceback
import warnings
from pathlib import Path

import pytest

#: Seconds that threads and processes which were told to end may take for it, on a busy machine.
_PATIENCE = 30.0

#: Threads of libraries that stay for as long as the process does, by how their names begin.
_FOR_GOOD = ("Dask-", "Profile", "TCP-Executor", "IO loop", "asyncio_", "pydevd", "tqdm_monitor", "execnet")


def run_in_fork(test, arguments):
    """Call a test in a child process; fails, or is skipped, as the test is there."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which nothing here needs
        child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as stream:
            pickle.dump(_outcome(test, arguments), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        found = stream.read()
    _, status = os.waitpid(child, 0)
    if not found:
        pytest.fail(f"the test's process ended with status {os.waitstatus_to_exitcode(status)}", pytrace=False)
    kind, said = pickle.loads(found)
    if kind == "skipped":
        pytest.skip(said)
    if kind == "failed":
        pytest.fail(said, pytrace=False)


def _outcome(test, arguments):
    try:
        test(**arguments)
    except pytest.skip.Exception as skipped:
        return "skipped", str(skipped)
    except BaseException:  # whatever it is, the parent has to know
        return "failed", traceback.format_exc()
    return "passed", ""


def running():
    """Return what runs now in this process and below it: threads, and numbers of child processes."""
    threads = {thread for thread in threading.enumerate() if not thread.name.startswith(_FOR_GOOD)}
    return threads, _children()


def check_nothing_runs(before):
    """Fail if threads or processes run that did not run before; they get a while to end."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        threads, children = (now - then for now, then in zip(running(), before, strict=True))
        if not threads and not children:
            return
        if time.monotonic() > deadline:
            pytest.fail(f"left running: {sorted(thread.name for thread in threads)}, {children}", pytrace=False)
        time.sleep(0.01)


def _children():
    """The commands of processes that this one has started and that still run, by number."""
    found = set()
    for task in Path("/proc/self/task").glob("*/children"):
        for number in task.read_text(encoding="ascii").split():
            with_name = Path("/proc", number, "cmdline")
            try:
                name = with_name.read_bytes().replace(b"\0", b" ").decode(errors="replace")[:80]
            except OSError:
                continue
            if name and "resource_tracker" not in name and "forkserver" not in name:  # zombies have none
                found.add((int(number), name))
    return found
