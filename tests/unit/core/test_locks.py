import threading

import pytest

from dragoman.core.errors import BusyError, DataError
from dragoman.core.locks import locked, output_locked
from dragoman.tuning.runs.run import Run


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
    assert together(200, 3, lambda time: output_locked(tmp_path / "deep" / "model")) == [1] * 200
    assert list((tmp_path / "deep").iterdir()) == []


def test_a_lock_stays_the_same_file(tmp_path):
    with locked(tmp_path / "run"):
        before = (tmp_path / "run" / ".lock").stat().st_ino
    with locked(tmp_path / "run"):
        assert (tmp_path / "run" / ".lock").stat().st_ino == before


def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="run: could not be written"), locked(tmp_path / "run"):
        pass
    assert not (tmp_path / "elsewhere").exists()
