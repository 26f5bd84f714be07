"""What runs tell is read from whatever numbers their events have."""

import json

import numpy as np
import pytest

from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.plan import Method, Plan
from dragoman.evaluation.experiments.results import TuningResults, has_evidence
from dragoman.tuning.methods.mert import Mert
from dragoman.tuning.runs.job import Job

EVENTS = {
    1: [
        {"iteration": 1, "score": 30.0, "seconds": {"judge": 1.0, "learn": 2.5}, "temperature": 0.5, "stop": None},
        {"iteration": 2, "score": 31.0, "seconds": 4, "temperature": 0.25, "updates": 7, "ends": "x", "stop": None},
        {"iteration": 3, "score": 29.0, "seconds": 0.5, "temperature": float("nan"), "stop": "done"},
    ],
    2: [{"iteration": 1, "score": 32.0, "objective": None, "candidates": 3, "new": 3, "good": True, "stop": "done"}],
}


@pytest.fixture
def method():
    return Method("learner", Mert())


@pytest.fixture
def tuned(method, tmp_path):
    for seed, events in EVENTS.items():
        folder = tmp_path / "runs" / "learner" / str(seed)
        folder.mkdir(parents=True)
        (folder / "events.jsonl").write_text("".join(f"{json.dumps(e)}\n" for e in events), encoding="utf-8")
    job = Job(tmp_path, tmp_path, (tmp_path,), Mert())
    return TuningResults(Experiment(Plan("", job, ("bleu",), (1, 2), (method,), ()), tmp_path))


def test_numbers_that_only_some_iterations_have_are_found_with_their_iterations(tuned, method):
    assert tuned.own_numbers(method) == ["temperature", "updates"]
    first, second = tuned.numbers(method, "temperature")
    assert first.tolist() == [[1, 0.5], [2, 0.25]]
    assert second.shape == (0, 2)
    assert [rows.tolist() for rows in tuned.numbers(method, "updates")] == [[[2, 7]], []]
    assert [len(rows) for rows in tuned.numbers(method, "objective")] == [0, 0]


def test_what_all_events_have_is_read_as_ever(tuned, method):
    assert tuned.scores(method).tolist() == [31.0, 32.0]
    assert tuned.iterations(method).tolist() == [3, 1]
    np.testing.assert_allclose(tuned.seconds(method), [8.0, 0.0])
    assert tuned.curve(method).tolist() == [[30, 31, 29], [32, 32, 32]]


def test_a_run_that_kept_no_evidence_is_known_by_it(tuned, method):
    run = tuned.run(method, 2)
    assert not has_evidence(run)
    run.evidence(1).mkdir(parents=True)
    assert has_evidence(run)
