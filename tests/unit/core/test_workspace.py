import errno
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.workspace import Workspace, format_size, free_memory, memory_size, resident_memory


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("4K", 4096), ("4G", 4 << 30), ("0.5M", 1 << 19), ("2T", 2 << 40), (12_345, 12_345)],
)
def test_sizes(text, size):
    assert memory_size(text) == size


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "0G",
        "-1G",
        "4GB",
        "4 G",
        "4g",
        "G",
        "lots",
        "1e9",
        "4,5G",
        "0x10",
        "nan",
        "inf",
        "٤G",
        "4G\n",
        "9" * 30,
    ],
)
def test_bad_sizes_are_refused(text):
    with pytest.raises(UsageError, match=r"expected a number above 0 and K, M, G or T, as in 4G"):
        memory_size(text)


def test_sizes_for_people():
    assert [format_size(size) for size in (0, 2048, 300 << 20, 5 << 30)] == ["0 bytes", "2.0 kB", "300 MB", "5.0 GB"]


def test_memory_of_machine_and_process():
    assert free_memory() >= 64 << 20
    assert resident_memory() > 1 << 20


def test_room_never_ends():
    assert Workspace(memory=800).room() == 100  # the process has more already
    assert Workspace(memory=1 << 50).room() > 1 << 49
    assert Workspace().room() == sys.maxsize


def test_the_folder_is_made_when_it_is_needed_and_goes_away(tmp_path):
    with Workspace(1, tmp_path) as workspace:
        assert list(tmp_path.iterdir()) == []
        (workspace.folder / "file").write_bytes(b"x")
        assert workspace.folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="no"), Workspace(1, tmp_path) as workspace:
        (workspace.folder / "no" / "file").write_bytes(b"x")
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_killed_processes_are_removed_and_nothing_else(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    host = socket.gethostname()
    for name in (f"dragoman-{host}-{dead.pid}-abc", f"dragoman-{host}-{os.getpid()}-abc", "dragoman-x", "else"):
        (tmp_path / name).mkdir()
    elsewhere = tmp_path / f"dragoman-not-{host}-{dead.pid}-abc"
    elsewhere.mkdir()
    with Workspace(1, tmp_path) as workspace:
        ours = workspace.folder.name
        found = {entry.name for entry in tmp_path.iterdir()}
    assert found == {f"dragoman-{host}-{os.getpid()}-abc", "dragoman-x", "else", elsewhere.name, ours}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_leave_nothing_behind(tmp_path, number):
    program = f"""
        import time
        from dragoman.core.workspace import Workspace
        with Workspace(1, {os.fspath(tmp_path)!r}) as workspace:
            (workspace.folder / "file").write_bytes(b"x")
            print("ready", flush=True)
            time.sleep(60)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    process.communicate()
    assert process.returncode in (128 + number, -number)
    assert list(tmp_path.iterdir()) == []


def test_the_handlers_of_others_stay():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with Workspace(1):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    with Workspace(1):
        pass
    assert signal.getsignal(signal.SIGTERM) is before


def test_places_that_will_not_do(tmp_path):
    with pytest.raises(DataError, match=r"no: is not a folder; expected a folder for temporary files"):
        Workspace(1, tmp_path / "no")
    with pytest.raises(DataError, match=r"of temporary files will be written; expected more room"):
        Workspace(1, tmp_path).check_disk(1 << 60)
    Workspace(1, tmp_path).check_disk(1)


def test_a_full_disk_is_one_sentence(tmp_path):
    def full() -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(DataError, match=f"^{tmp_path}: could not be written: the disk is full"):  # noqa: SIM117
        with Workspace(1, tmp_path).writing():
            full()
