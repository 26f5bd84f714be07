import pytest

from dragoman.core.live import LineProgress, time_left


@pytest.mark.parametrize(
    ("share", "elapsed", "said"),
    [(0.5, 10, "10 s left"), (0.1, 100, "15 min left"), (0.01, 360, "9 h 54 min left"), (1, 5, "0 s left"), (0, 5, "")],
)
def test_the_time_left(share, elapsed, said):
    assert time_left(share, elapsed) == said


def test_a_log_has_the_time_left_once_a_minute(capsys):
    now = iter([0.0, 30.0, 61.0, 80.0, 200.0, 240.0, 250.0])
    with LineProgress(lambda: next(now)).stage("work") as done:
        for share in (0.1, 0.25, 0.3, 0.8, 1.0):
            done(share)
    lines = ["work: 25%, 3 min left", "work: 80%, 50 s left", "work: 250.0 s"]
    assert capsys.readouterr().err == "".join(f"dragoman: {line}\n" for line in lines)
