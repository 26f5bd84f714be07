"""`dragoman curve`: pictures of runs of any kind."""

import pytest

from dragoman.tuning.runs.run import Record, Run


def run(folder, rows):
    made = Run.begin(folder, {"metric": "bleu"})
    for number, row in enumerate(rows, 1):
        made.record(Record.from_event({"iteration": number, "stop": None, "seconds": {"learn": 1.0}, **row}))
    return folder


@pytest.mark.slow
def test_learners_and_others_are_drawn_together(dragoman, tmp_path):
    risk = run(
        tmp_path / "risk",
        [{"score": 1.0, "updates": 20, "temperature": 0.1}, {"score": 20.0, "updates": 40}, {"score": 25.0}],
    )
    mert = run(tmp_path / "mert", [{"score": 24.0, "objective": 24.5, "candidates": 100}])
    result = dragoman("curve", risk, mert, "--out", tmp_path / "curve.svg")
    assert result.code == 0, result.err
    picture = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    for text in ("temperature", "objective", "candidates", "best 25.00", "best 24.00"):
        assert text in picture


def test_a_folder_that_is_no_run(dragoman, tmp_path):
    result = dragoman("curve", tmp_path, "--out", tmp_path / "curve.svg")
    assert result.code == 1
    assert "has no events; expected a run with at least one iteration" in result.err
    assert not (tmp_path / "curve.svg").exists()
