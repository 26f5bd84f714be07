"""Progress: silent, remembered, and as lines; durations and the time left."""

import warnings

import pytest

from dragoman.core.progress import (
    SILENT,
    DragomanWarning,
    LineProgress,
    Progress,
    ProgressRecorder,
    available_cores,
    format_duration,
    format_time_left,
)


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
    told, listener = ProgressRecorder(), ProgressRecorder()
    told.note("one")
    told.warn("two")
    told.replay(listener)
    with pytest.warns(DragomanWarning, match="two"):
        listener.replay(SILENT)


def test_there_is_at_least_one_core():
    assert available_cores() >= 1


@pytest.mark.parametrize(
    ("seconds", "rough", "said"),
    [
        (0, False, "0 s"),
        (0.04, False, "0.0 s"),
        (9.96, False, "10 s"),
        (59.6, False, "1 min 00 s"),
        (3599.4, False, "59 min 59 s"),
        (3599.6, False, "1 h 00 min"),
        (89, True, "89 s"),
        (95, True, "2 min"),
        (3599, True, "1 h 00 min"),
        (100_000, True, "27 h 47 min"),
    ],
)
def test_durations_name_their_units(seconds, rough, said):
    assert format_duration(seconds, rough=rough) == said


@pytest.mark.parametrize(
    ("share", "elapsed", "said"),
    [
        (0.5, 10, "10 s left"),
        (0.1, 100, "15 min 00 s left"),
        (0.01, 360, "9 h 54 min left"),
        (1, 5, "0 s left"),
        (0, 5, ""),
    ],
)
def test_the_time_left(share, elapsed, said):
    assert format_time_left(share, elapsed) == said


def clock(*seconds):
    return iter(seconds).__next__


def test_a_log_has_the_time_of_a_long_stage_first_and_the_time_left_once_a_minute(capsys):
    progress = LineProgress(clock(0.0, 2.0, 30.0, 61.0, 80.0, 200.0, 240.0, 250.0))
    with progress.stage("work") as done:
        for share in (0.001, 0.1, 0.25, 0.3, 0.8, 1.0):
            done(share)
    lines = ["work: about 5 min", "work: 25%, 3 min 03 s left", "work: 80%, 50 s left", "work: 4 min 10 s"]
    assert capsys.readouterr().err == "".join(f"dragoman: {line}\n" for line in lines)


def test_what_is_counted_is_told_if_it_takes_long(capsys):
    with LineProgress(clock(0.0, 1.0, 20.0, 170.0, 200.0)).counter("translating", 1000) as more:
        for count in (10, 100, 890):
            more(count)
    lines = ["translating: about 3 min for 1,000 sentences", "translating: 1,000 sentences in 3 min 20 s"]
    assert capsys.readouterr().err == "".join(f"dragoman: {line}\n" for line in lines)


@pytest.mark.parametrize("total", [1000, None])
def test_what_is_counted_and_does_not_take_long_is_no_line(capsys, total):
    with LineProgress(clock(0.0, 4.0, 8.0)).counter("translating", total) as more:
        more(500)
    assert capsys.readouterr().err == ""
