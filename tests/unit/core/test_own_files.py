"""Files of ours: which they are, locks, and leftovers of killed processes."""

import os
import subprocess
import sys
import threading

import pytest

from dragoman.core.errors import BusyError, DataError
from dragoman.core.files import open_output, output_folder
from dragoman.core.own_files import (
    EXPERIMENT,
    RUN,
    clear_leftovers,
    is_leftover,
    lock_folder,
    lock_output,
    own_files,
    refuse_foreign_files,
)
from dragoman.tuning.runs.run import Run

OURS = ("run.toml", "events.jsonl", "weights.txt", "weights/000.txt", "evidence/001/vocab/blob.npy", "state/002.npz")
THEIRS = ("thesis.pdf", "photos/me.jpg", "weights/notes.txt", "evidence/mine.csv", "state/002.npz.bak", "weights/.lock")


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def test_only_our_own_files_are_removed_and_folders_that_are_empty_then(tmp_path):
    write(tmp_path, ".lock", *OURS, *THEIRS)
    (tmp_path / "empty").mkdir()
    RUN.remove(tmp_path, keep=["run.toml"])
    assert files(tmp_path) == sorted([".lock", "run.toml", *THEIRS])
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {
        "empty",
        "photos",
        "weights",
        "evidence",
        "state",
    }
    assert not (tmp_path / "evidence" / "001").exists()


def test_links_are_removed_as_links_and_never_followed(tmp_path):
    home, run = tmp_path / "home", tmp_path / "run"
    write(home, "000.txt", "run.toml")
    run.mkdir()
    (run / "events.jsonl").symlink_to(home / "run.toml")
    (run / "weights").symlink_to(home)
    RUN.remove(run)
    assert [path.name for path in run.iterdir()] == ["weights"]
    assert files(home) == ["000.txt", "run.toml"]


def test_strangers_are_named_the_first_three(tmp_path):
    write(tmp_path, "model.toml", "weights.txt", "vocab/source/blob.npy")
    refuse_foreign_files(tmp_path)
    write(tmp_path, "vocab/source/notes")
    with pytest.raises(DataError, match=r": holds vocab/source/notes that Dragoman did not write; expected a folder"):
        refuse_foreign_files(tmp_path)
    write(tmp_path, "thesis.pdf", "photos/1.jpg", "photos/2.jpg", "a", "b")
    with pytest.raises(DataError, match=r": holds a, b, thesis.pdf and 2 more that Dragoman did not write;"):
        refuse_foreign_files(tmp_path)


def test_arrays_that_a_model_has_no_checksum_of_are_not_its_own(tmp_path):
    write(tmp_path, "model.toml", "vocab/source/blob.npy", "vocab/source/mine.npy")
    (tmp_path / "checksums.toml").write_text('"vocab/source/blob.npy" = 1\n')
    assert own_files(tmp_path).foreign_files(tmp_path) == ["vocab/source/mine.npy"]


def test_of_a_corpus_only_the_sides_that_it_has_are_its_own(tmp_path):
    write(tmp_path, "train.en", "train.fr.gz", "test.en2", "train.py", "dev.tok.en")
    (tmp_path / "manifest.toml").write_text('source = "en"\ntarget = "fr"\nreferences = ["en2"]\n')
    assert own_files(tmp_path).foreign_files(tmp_path) == ["dev.tok.en", "train.py"]


def test_a_folder_without_a_mark_is_all_strange(tmp_path):
    write(tmp_path, "weights.txt")
    assert own_files(tmp_path).foreign_files(tmp_path) == ["weights.txt"]


def test_an_experiment_has_runs_and_models(tmp_path):
    write(tmp_path, "plan.toml", "runs/mert/3/weights/000.txt", "runs/mert/3/tests/in-domain/final.txt")
    write(tmp_path, "models/perp/tables/tm/sources.npy", "untuned/tests/in-domain/MBR/final.txt")
    assert EXPERIMENT.foreign_files(tmp_path) == []
    write(tmp_path, "runs/mert/3/thesis.pdf", "models/notes")
    assert EXPERIMENT.foreign_files(tmp_path) == ["models/notes", "runs/mert/3/thesis.pdf"]


def together(times, workers, enter):
    """How many were inside at the same time, of several that start at once: they stay until all have tried."""
    inside, failed = [[] for _ in range(times)], []
    start, tried = threading.Barrier(workers), threading.Barrier(workers)

    def work():
        try:
            for time in range(times):
                start.wait()
                try:
                    with enter(time):
                        inside[time].append(1)
                        tried.wait()
                except BusyError:
                    tried.wait()
        except Exception as error:
            failed.append(error)
            start.abort()
            tried.abort()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    return [len(one) for one in inside]


@pytest.mark.parametrize("restart", [False, True])
def test_of_many_that_begin_a_run_at_once_one_is_inside(tmp_path, restart):
    def enter(time):
        return Run.claimed(tmp_path / f"{time % 20}", {"seed": 1}, restart=restart)

    assert together(100, 3, enter) == [1] * 100


def test_of_many_that_make_a_folder_at_once_one_is_inside_though_the_lock_goes_away(tmp_path):
    assert together(200, 3, lambda time: lock_output(tmp_path / "deep" / "model")) == [1] * 200
    assert list((tmp_path / "deep").iterdir()) == []


def test_a_lock_stays_the_same_file(tmp_path):
    with lock_folder(tmp_path / "run"):
        before = (tmp_path / "run" / ".lock").stat().st_ino
    with lock_folder(tmp_path / "run"):
        assert (tmp_path / "run" / ".lock").stat().st_ino == before


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="run: could not be written"), lock_folder(tmp_path / "run"):
        pass
    assert not (tmp_path / "elsewhere").exists()


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
