import warnings

import pytest

from dragoman.core.progress import SILENT, DragomanWarning, Progress, Remembered, available_cores


def test_the_silent_one_says_nothing(capsys):
    with SILENT.stage("work") as done:
        done(0.5)
        SILENT.note("something")
    assert capsys.readouterr() == ("", "")


def test_warnings_reach_whoever_calls_from_python():
    with pytest.warns(DragomanWarning, match="odd") as caught:
        SILENT.warn("odd")
    assert issubclass(DragomanWarning, UserWarning)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DragomanWarning)
        SILENT.warn("odd")


def test_errors_pass_through_a_stage():
    with pytest.raises(ValueError, match="stop"), Progress().stage("work"):
        raise ValueError("stop")


def test_what_is_remembered_is_said_later():
    told, listener = Remembered(), Remembered()
    told.note("one")
    told.warn("two")
    told.tell(listener)
    with pytest.warns(DragomanWarning, match="two"):
        listener.tell(SILENT)


def test_there_is_at_least_one_core():
    assert available_cores() >= 1
