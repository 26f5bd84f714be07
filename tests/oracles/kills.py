"""Commands that are killed at a moment that is said: before the n-th thing that they do to the files of a folder.

A process loads Dragoman once; each command is a fork of it, with an audit hook that counts what Python is about to do
with files, and kills the process when its time has come. Nothing is patched. Run as a program, this is that process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.work.processes import ONE_THREAD

#: What a process does to files.
KINDS = ("open", "fcntl.flock", "os.rename", "os.mkdir", "os.remove", "os.rmdir")
#: What is loaded once, before the first fork.
_LOADED = (
    "cli.main",
    "cli.train",
    "cli.tune",
    "cli.normalise",
    "evaluation.experiments.experiment",
    *(f"tuning.methods.{name}" for name in ("mert", "risk_corpus")),
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(frozen=True)
class Ended:
    """How a command ended, what it said, and what it did to files: events and paths, in order."""

    code: int
    said: str
    events: list[tuple[str, str]]


class Commands:
    """Runs commands, and experiments without their reports, whose jobs are all done in one process."""

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | ONE_THREAD,  # a process with threads is not to be forked
        )
        return self

    def __exit__(self, *_):
        self._process.communicate()

    def run(self, folder: Path, *arguments: object, kill_at: int | None = None) -> Ended:
        """Run a command that writes to a folder, and kill it before its event of this number, from 0."""
        asked = {"folder": str(folder), "arguments": [str(one) for one in arguments], "kill_at": kill_at}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        code, said, events = json.loads(self._process.stdout.readline())
        return Ended(code, said, [(kind, name) for kind, name in events])


def moments(events: list[tuple[str, str]], most: int) -> list[int]:
    """Numbers of events: the first, the last and some in the middle of every kind, about as many of each."""
    chosen: set[int] = set()
    for kind in KINDS:
        places = [number for number, (one, _) in enumerate(events) if one == kind]
        steps = min(len(places), most)
        chosen |= {places[i * (len(places) - 1) // max(steps - 1, 1)] for i in range(steps)}
    return sorted(chosen)


def _watch(folder: str, kill_at: int | None, out: int) -> None:
    """Write down what is done to the files of a folder, until it is time to go."""
    count = 0

    def hook(event: str, arguments: tuple) -> None:
        nonlocal count
        if event not in KINDS:
            return
        path = Path(f"/proc/self/fd/{arguments[0]}").readlink() if event == "fcntl.flock" else arguments[0]
        if event == "open" and (isinstance(path, int) or not arguments[2] & _WRITING):
            return
        path = os.fsdecode(path)
        if path.startswith("/") and not path.startswith(folder):
            return
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1
        os.write(out, (json.dumps([event, path]) + "\n").encode())

    sys.addaudithook(hook)


def _command(folder: str, arguments: list[str], kill_at: int | None, events: int, said: int) -> None:
    """Do what is asked; never returns."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream, to in ((0, nothing), (1, nothing), (2, said)):
        os.dup2(to, stream)
    _watch(folder, kill_at, events)
    code = 1
    try:
        if arguments[0] == "experiment":
            _experiment(Path(arguments[1]), Path(arguments[2]))
        else:
            from dragoman.cli.main import main

            sys.argv = ["dragoman", *arguments]
            main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _experiment(plan: Path, out: Path) -> None:
    from dragoman.core.runtime import Runtime, ThreadWorkers
    from dragoman.evaluation.experiments.experiment import Experiment

    class Here(ThreadWorkers):
        """Does one job after the other, in this process."""

        def run_all(self, jobs, watch, *, threads=1):
            for job in jobs.values():
                job()
                watch()
            return {}

    with Experiment.claimed(plan, out) as begun:
        begun.run(runtime=Runtime(workers=Here()))


def _serve() -> None:
    import importlib
    import tempfile

    for name in _LOADED:
        importlib.import_module(f"dragoman.{name}")

    for line in sys.stdin:
        asked = json.loads(line)
        with tempfile.TemporaryFile() as events, tempfile.TemporaryFile() as said:
            child = os.fork()
            if not child:
                _command(asked["folder"], asked["arguments"], asked["kill_at"], events.fileno(), said.fileno())
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            events.seek(0)
            said.seek(0)
            rows = [json.loads(row) for row in events.read().splitlines()]
            print(json.dumps([code, said.read().decode(), rows]), flush=True)


if __name__ == "__main__":
    _serve()
