"""`dragoman surface` and `dragoman ranks`: pictures and tables of a run's candidates."""

import json

import pytest

import dragoman as dm
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.error_surfaces import error_surfaces
from dragoman.evaluation.statistics.run_evidence import RunEvidence
from dragoman.tuning.runs.run import Record, Run


@pytest.fixture
def run(dragoman, model, toy, tmp_path):
    toy.write(tmp_path, dev=slice(12))
    out = tmp_path / "run"
    texts = ["--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t", "--prepared"]
    options = [
        "--iterations",
        2,
        "--nbest",
        40,
        "--hypotheses",
        "strings",
        "--method-option",
        "restarts=1",
        "--fix",
        "lr.*",
    ]
    result = dragoman("tune", "--model", model, *texts, "--method", "mert", *options, "--out", out)
    assert result.code == 0, result.err
    return out


@pytest.mark.slow
def test_surfaces_have_the_score_of_the_run_at_its_weights(dragoman, run, tmp_path):
    result = dragoman("surface", run, "--out", tmp_path / "surface.svg")
    assert result.code == 0, result.err
    picture = (tmp_path / "surface.svg").read_text(encoding="utf-8")
    assert "lm, zoom" in picture
    assert "lr.fwd.mono" not in picture  # its weight is fixed
    few = dragoman("surface", run, "--feature", "tm.*", "--out", tmp_path / "few.svg")
    assert few.code == 0, few.err
    assert "lm, zoom" not in (tmp_path / "few.svg").read_text(encoding="utf-8")
    assert "no tuned feature is called x" in dragoman("surface", run, "--feature", "x", "--out", "x.svg").error
    evidence = RunEvidence.read(run, runtime=Runtime())
    assert any(name.startswith("lr.") for name in evidence.problem.names)  # fixed weights still count
    weights = evidence.vector(evidence.run.weights())
    for surface in error_surfaces(evidence.problem, weights, evidence.tuned):
        assert surface.at(surface.weight) == pytest.approx(evidence.problem.objective(weights))
    axes = dm.TuningRun(run).plot_surfaces().axes
    assert len(axes) == 2 * len(evidence.tuned)


@pytest.mark.slow
def test_ranks_are_those_of_model_scores(dragoman, run, tmp_path):
    result = dragoman("ranks", run, "--sentence", 3, "--limit", 4, "--out", tmp_path / "ranks.svg")
    assert result.code == 0, result.err
    assert "sentence 3, 4 of" in result.out
    assert "rank 0" in result.out
    assert "sentence bleu" in result.out
    assert (tmp_path / "ranks.svg").read_text(encoding="utf-8").startswith("<svg")
    found = json.loads(dragoman("ranks", run, "--sentence", 3, "--limit", 1000, "--json").out)
    iterations = len(Run(run).events())
    assert found["iterations"] == list(range(iterations + 1))
    candidates = found["candidates"]
    assert len({row["text"] for row in candidates}) == len(candidates) > 4
    for place in range(iterations + 1):
        by_rank = sorted(candidates, key=lambda row: row["ranks"][place])
        scores = [row["model_scores"][place] for row in by_rank]
        assert [row["ranks"][place] for row in by_rank] == list(range(1, len(candidates) + 1))
        assert scores == sorted(scores, reverse=True)
    assert [row["ranks"][-1] for row in candidates] == list(range(1, len(candidates) + 1))
    last = json.loads(dragoman("ranks", run, "--iterations", "0,1", "--limit", 2, "--json").out)
    assert last["iterations"] == [0, 1]
    assert list(dm.TuningRun(run).ranks(3).columns)[:3] == ["text", "bleu", "rank 0"]


def test_bad_input(dragoman, run, tmp_path):
    assert "no sentence 13; expected one of 1 to 12" in dragoman("ranks", run, "--sentence", 13).error
    assert "no iteration 9" in dragoman("ranks", run, "--iterations", "0,9").error
    assert "expected numbers separated by commas" in dragoman("ranks", run, "--iterations", "a").error
    learner = Run.begin(tmp_path / "learner", {"metric": "bleu"})
    learner.record(Record.from_event({"iteration": 1, "stop": None, "seconds": {}, "score": 1.0}))
    for command in ("ranks", "surface"):
        more = ["--out", tmp_path / "x.svg"] if command == "surface" else []
        assert "has no n-best lists or hypergraphs" in dragoman(command, learner.folder, *more).error
        assert "has no events" in dragoman(command, tmp_path, *more).error
