"""Runs that found nothing are counted, and means are given with them and without them."""

import numpy as np
import pytest

from dragoman.core.feature_rows import Weights
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.plan import Method, Plan
from dragoman.evaluation.experiments.results import TuningResults, systems_of
from dragoman.evaluation.reports.experiment_report import add_scores, add_spread, summary
from dragoman.evaluation.reports.experiment_sections import Sheets
from dragoman.tuning.methods.mert import Mert
from dragoman.tuning.runs.job import Job
from dragoman.tuning.runs.run import Record, Run


class Scores:
    """What systems scored: the untuned weights 10, and the runs of a method what they are said to."""

    signature = "bleu|tok:none"

    def __init__(self, scores):
        self._scores = scores

    def scores(self, system):
        return np.array([10.0] if system.method is None else self._scores)


@pytest.fixture
def plan(tmp_path):
    job = Job(tmp_path, tmp_path, (tmp_path,), Mert())
    return Plan("", job, ("bleu",), (1, 2, 3), (Method("mert", Mert()),), ())


def with_runs(plan, folder, ends):
    """An experiment whose runs begin with the weight 1 and end with these."""
    experiment = Experiment(plan, folder)
    for seed, end in zip(plan.seeds, ends, strict=True):
        run = Run(experiment.folder(plan.methods[0], seed))
        run.started(Weights({"lm": 1.0}))
        run.record(Record.from_event({"iteration": 1, "score": 20.0 + end, "stop": "done"}))
        run.write_weights(Weights({"lm": end}))
    return TuningResults(experiment)


@pytest.mark.parametrize(
    ("ends", "runs", "cell", "columns"),
    [
        ([1.0, 2.0, 3.0], "3 (1 with start weights)", "20.00 ± 10.00 (without those 25.00 ± 7.07)", ["1", "25.0"]),
        ([2.0, 2.0, 3.0], 3, "20.00 ± 10.00", ["0", "20.0"]),
        ([1.0, 1.0, 1.0], "3 (3 with start weights)", "20.00 ± 10.00", ["3", ""]),
    ],
)
def test_means_with_and_without_runs_that_found_nothing(plan, tmp_path, csv_lines, ends, runs, cell, columns):
    tuned, sheets = with_runs(plan, tmp_path, ends), Sheets(plan, tmp_path)
    tests = {("test", "bleu"): Scores([10.0, 20.0, 30.0])}
    names, rows = summary(sheets, tuned, None, tests)
    (row,) = [row for row, system in zip(rows, systems_of(plan), strict=True) if system.method]
    found = dict(zip(names, row, strict=True))
    assert found["runs"] == runs
    assert found["bleu on test"].replace("\N{NO-BREAK SPACE}", " ") == cell
    assert ("without those" in found["bleu on the tuning set"]) == ("without those" in cell)
    add_scores(sheets, (names, rows), tests)
    add_spread(sheets, tuned, tests)
    lines = csv_lines(tmp_path / "systems.csv")
    assert lines[0][-2:] == ["with start weights", "mean without those"]
    assert next(line for line in lines if line[0] == "mert")[-2:] == columns
    page = sheets.write_page().read_text(encoding="utf-8")
    assert ("no result of tuning" in page) == (runs != 3)
    assert "bleu|tok:none" in page


@pytest.fixture
def csv_lines():
    return lambda path: [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
