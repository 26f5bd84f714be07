"""Being killed, interrupted, out of disk, or talking to nobody: no traceback, and nothing half-written."""

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

#: Enough to keep any machine busy until it is interrupted.
FOR_EVER = ["--aligner-option", "iterations=100000000"]
#: A disk without room.
FULL = Path("/dev/full")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def in_the_middle_of_writing(action, arguments):
    """Run a command that, when it writes its fourth array, does something to itself."""
    script = (
        "import os, signal, sys\nfrom numpy.lib import format\nfrom dragoman.cli.main import main\n"
        "write, calls = format.write_array_header_1_0, []\n"
        "def interrupted(*arguments):\n"
        f"    calls.append(1)\n    if len(calls) == 4:\n        {action}\n    write(*arguments)\n"
        "format.write_array_header_1_0 = interrupted\nmain()\n"
    )
    return subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, timeout=60)


def test_killed_while_working_leaves_no_model(command, toy, tmp_path):
    with subprocess.Popen(
        [command, *map(str, toy.train), *FOR_EVER, "--out", tmp_path / "m"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert "memory" in process.stderr.readline()
        assert "reading" in process.stderr.readline()
        process.kill()
    assert names(tmp_path) == [".m.lock"]


def test_two_trainings_of_one_model_do_not_go_on_together(command, dragoman, toy, tmp_path):
    arguments = [*toy.train, *FOR_EVER, "--out", tmp_path / "m"]
    with subprocess.Popen([command, *map(str, arguments)], stderr=subprocess.PIPE, text=True) as process:
        assert "memory" in process.stderr.readline()
        assert dragoman(*arguments).error == f"{tmp_path}/m: is being worked on by another process"
        process.kill()


def test_ctrl_c_while_a_kernel_works(command, toy, tmp_path):
    with subprocess.Popen(
        [command, *map(str, toy.train), *FOR_EVER, "--out", tmp_path / "m"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert "memory" in process.stderr.readline()
        assert "reading" in process.stderr.readline()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        _, err = process.communicate(timeout=30)
        assert time.monotonic() - start < 5  # it takes some hundredths of a second; this is a busy machine's share
    assert process.returncode == 130
    assert err.splitlines()[-1] == "dragoman: interrupted"
    assert "Traceback" not in err
    assert names(tmp_path) == []


def test_ctrl_c_while_writing(toy, tmp_path):
    arguments = [*toy.train, "--alignment", toy.links, "--out", tmp_path / "m"]
    done = in_the_middle_of_writing("os.kill(os.getpid(), signal.SIGINT)", arguments)
    assert done.returncode == 130
    assert b"Traceback" not in done.stderr
    assert names(tmp_path) == []


def test_a_full_disk(dragoman, toy, tmp_path, monkeypatch):
    def no_space(*arguments, **more):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", no_space)
    result = dragoman(*toy.train, "--alignment", toy.links, "--out", tmp_path / "m")
    assert (result.code, result.error) == (
        1,
        f"{tmp_path}/m: could not be written: the disk is full; nothing was changed",
    )
    assert names(tmp_path) == []


@pytest.mark.parametrize("what", ["train", "export", "estimate"])
def test_a_limit_on_the_size_of_files(spawn, toy, model, tmp_path, what):
    """A disk that fills up in the middle of a file, as near as one comes to it without filling one."""
    arguments = {
        "train": [*toy.train, "--alignment", toy.links],
        "export": ["export", "moses", model],
        "estimate": ["lm", "estimate", toy.target],
    }[what]

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    result = spawn(*arguments, "--out", tmp_path / "out", preexec_fn=limit)
    assert result.code == 1
    assert result.error.startswith(f"{tmp_path}/out")
    assert "could not be written: File too large; nothing was changed" in result.error
    assert names(tmp_path) == []


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("what", ["estimate", "show", "version", "help"])
def test_nobody_reads_the_output(command, toy, model, what, unbuffered):
    arguments = {
        "estimate": ["lm", "estimate", toy.target],
        "show": ["model", "show", model],
        "version": ["--version"],
        "help": ["train", "--help"],
    }[what]
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(
        [command, *map(str, arguments)], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, env=environment
    )
    os.close(writer)
    assert "Traceback" not in done.stderr
    assert "rror" not in done.stderr
    assert done.returncode != 0


@pytest.mark.skipif(not FULL.exists(), reason=f"needs {FULL}")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("what", ["estimate", "show", "version", "align"])
def test_standard_output_on_a_full_disk(command, toy, model, what, unbuffered):
    arguments = {
        "estimate": ["lm", "estimate", toy.target],
        "show": ["model", "show", model],
        "version": ["--version"],
        "align": ["align", "--source", toy.source, "--target", toy.target],
    }[what]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with FULL.open("wb") as full:
        done = subprocess.run(
            [command, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=environment
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    expected = "dragoman: error: standard output: could not be written: the disk is full; nothing was changed"
    assert done.stderr.splitlines()[-1] == expected


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-"])
def test_streams_that_the_shell_closed(command, model, stream):
    done = subprocess.run(
        ["sh", "-c", f'"$0" model show "$1" {stream}', command, model], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ("phrase table tm" in done.stdout) == (stream != ">&-")


def test_a_file_that_fails_without_a_sentence_of_its_own_is_named(dragoman, model, monkeypatch):
    def unreadable(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO), "/some/where")

    monkeypatch.setattr("dragoman.cli.model.Model.load", unreadable)
    monkeypatch.setattr("dragoman.cli.main._drop_output", lambda: None)  # these tests have no real standard output
    assert dragoman("model", "show", model).error == f"/some/where: {os.strerror(errno.EIO)}"
