import os
import subprocess
import sys

import pytest

from dragoman.core.files import open_output, output_folder
from dragoman.core.own_files import clear_leftovers, is_leftover


@pytest.fixture(scope="module")
def dead():
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def below(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_what_dead_processes_left_anywhere_below_is_cleared(tmp_path, dead):
    here, alive = tmp_path / "run" / "tests" / "in-domain", os.getppid()
    here.mkdir(parents=True)
    (here / "final.txt").write_text("done")
    for name in (f".000.txt.partial-{dead}", f".001.txt.partial-{alive}-0123abcd", f".002.txt.partial-{dead}-0123abcd"):
        (here / name).write_text("left")
    (here / f".003.txt.partial-{alive}").write_text("of an older version, which is at it")
    (here / f".evidence.partial-{dead}-0123abcd" / "deep").mkdir(parents=True)
    clear_leftovers(tmp_path)
    assert below(here) == [f".003.txt.partial-{alive}", "final.txt"]


def test_what_somebody_writes_is_left_alone(tmp_path):
    with open_output(tmp_path / "file") as stream, output_folder(tmp_path / "folder") as folder:
        stream.write(b"x")
        (folder / "part").write_text("x")
        clear_leftovers(tmp_path)
    assert below(tmp_path) == ["file", "folder", "folder/part"]


def test_a_file_that_was_closed_is_held_until_it_has_its_name(tmp_path):
    with open_output(tmp_path / "file.gz") as stream:
        stream.write(b"x")
        stream.close()
        clear_leftovers(tmp_path)
    assert below(tmp_path) == ["file.gz"]


def test_a_folder_whose_swap_was_interrupted_comes_back(tmp_path, dead):
    old = tmp_path / "evidence" / f".001.old-{dead}-0123abcd"
    old.mkdir(parents=True)
    (old / "part").write_text("old")
    clear_leftovers(tmp_path)
    assert below(tmp_path) == ["evidence", "evidence/001", "evidence/001/part"]


def test_links_are_not_followed(tmp_path, dead):
    home, run = tmp_path / "home", tmp_path / "run"
    home.mkdir()
    run.mkdir()
    precious = home / f".x.partial-{dead}"
    precious.write_text("precious")
    (run / "link").symlink_to(home)
    (run / f".y.partial-{dead}-0123abcd").symlink_to(home)
    clear_leftovers(run)
    assert below(run) == ["link"]
    assert precious.exists()


def test_a_pipe_is_not_waited_for(tmp_path, dead):
    pipe = tmp_path / f".x.partial-{dead}"
    os.mkfifo(pipe)
    clear_leftovers(tmp_path)
    assert is_leftover(pipe)
    assert pipe.exists()
