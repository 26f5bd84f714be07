"""Fixed weights count where candidates are compared, whatever the method, and keep their values."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Checkpoint, Tuner
from dragoman.tuning.problems.fixed_score import FIXED_SCORE, FixedScore, fixed_weights
from dragoman.tuning.runs.loop import Loop, select_weights
from dragoman.tuning.runs.run import Record, Run
from oracles.toy_decoder import NAMES, ToyDecoder, as_graphs, task_for, task_of, tune

#: `noise` is large, and what it does to the choice is undone by a larger weight of `adequacy` only.
START = Weights({"adequacy": 0.1, "length": 0.0, "noise": 0.5})
FIXED = FixedScore(Weights({"adequacy": 2.0, "noise": -0.5}))


def run_with_fixed(name, folder, fixed, start=START):
    """Tune with some weights fixed; return the weights and the scores of the iterations."""
    tuner = TUNERS.get(name)(**({"samples": 2000, "starts": 2} if name == "lus" else {}))
    task = task_for(ToyDecoder(), tuner)
    free = [one for one in NAMES if one not in fixed]
    task = replace(task, names=free, ranges={one: task.ranges[one] for one in free})
    run = Run.begin(folder, {"seed": 1})
    found = tune(run, task, tuner, start, Loop(iterations=8))
    return found, [event["score"] for event in run.events()]


@pytest.mark.parametrize("name", [name for name in TUNERS.names() if issubclass(TUNERS.get(name), Tuner)])
def test_every_method_counts_fixed_features(name, tmp_path):
    fixed, scores = run_with_fixed(name, tmp_path / "fixed", ["noise"])
    assert fixed["noise"] == START["noise"]
    assert max(scores) > scores[0] + 20
    # Methods that do not see the noise leave the other weights about as large as its own.
    assert fixed["adequacy"] > 4 * fixed["noise"]


def test_the_choice_of_the_rest_is_the_best_of_a_grid(tmp_path):
    start = Weights({"adequacy": 0.4, "length": 0.0, "noise": 0.2})
    found, scores = run_with_fixed("mert", tmp_path / "run", ["adequacy", "noise"], start)
    assert (found["adequacy"], found["noise"]) == (0.4, 0.2)
    decoder = ToyDecoder(size=100)
    every = decoder(start)
    problem = every.problem(NAMES, task_of(decoder).ranges, task_of(decoder).scorer)
    grid = [problem.objective(np.array([0.4, length, 0.2])) for length in np.linspace(-5, 5, 2001)]
    assert max(scores) == pytest.approx(max(grid), abs=0.3)
    assert max(scores) > scores[0] + 5


@pytest.mark.parametrize("as_evidence", [lambda lists: lists, as_graphs])
def test_problems_compare_candidates_as_if_all_weights_were_there(as_evidence):
    task, rng = task_of(ToyDecoder(sentences=5, size=30)), np.random.default_rng(1)
    decoded = as_evidence(task.decoder(START))
    whole = decoded.problem(NAMES, task.ranges, task.scorer)
    part = decoded.problem(["length"], task.ranges, task.scorer, fixed=FIXED)
    assert part.names == ("length", FIXED_SCORE)
    assert part.ranges.tolist() == [[-1.0, 1.0], [0.0, 1.0]]
    for length, scale in itertools.product(rng.normal(size=5), [1.0, 0.1, 30.0]):
        weights = Weights({**FIXED.weights, "length": length})
        begin = FIXED.begin(weights, ["length"])
        assert begin.tolist() == [length, 2.0]
        assert part.objective(scale * begin) == whole.objective(weights.vector(NAMES))
        assert FIXED.restored(scale * begin, ["length"]).tolist() == pytest.approx([length])


def test_what_changes_no_comparison_is_not_fixed():
    weights = Weights({"lm": 0.5, "tm": 0.0, "unknown_word": -100.0, "mix.tm.fwd.in": 0.3, "word_penalty": 1.0})
    assert dict(fixed_weights(weights, ["word_penalty"])) == {"lm": 0.5}


def test_without_fixed_weights_nothing_changes():
    none, vector = FixedScore(), np.array([1.0, -2.0])
    features = FeatureRows.from_dense(["a", "b"], np.array([[1.0, 2.0], [0.0, 3.0]]))
    assert none.features(features, ["b"]).names == ("b",)
    assert none.begin(Weights({"b": 3.0}), ["a", "b"]).tolist() == [0.0, 3.0]
    assert none.within(vector, -vector, ["a", "b"]) is not vector
    assert none.restored(vector, ["a", "b"]) is vector


def test_a_proposal_that_reverses_fixed_weights_is_shortened():
    begin, proposal = np.array([1.0, 1.0, 2.0]), np.array([3.0, 0.0, -1.0])
    found = FIXED.within(begin, proposal, ["a", "b"])
    # On the line from one direction to the other, with half of the fixed weight left.
    assert found[-1] == pytest.approx(0.25)
    way = (found - begin / 4) / (proposal / 4 - begin / 4)
    assert way == pytest.approx([way[0]] * 3)
    kept = np.array([3.0, 0.0, 0.1])
    assert FIXED.within(begin, kept, ["a", "b"]) is kept


def test_an_average_keeps_the_scale_that_fixed_weights_set(tmp_path):
    run = Run.begin(tmp_path / "run", {"seed": 1})
    run.started(Weights({"a": 1.0, "lm": 0.5}))
    task = replace(task_of(ToyDecoder(sentences=2)), names=["a"], ranges={"a": (0.0, 1.0)})
    records = [Record(i, 1.0, {}) for i in (1, 2)]
    for i, value in ((1, 3.0), (2, 5.0)):
        run.write_checkpoint(Checkpoint(Weights({"a": value, "lm": 0.5})), i)
    assert dict(select_weights(run, records, task, "average")) == {"a": 5.0, "lm": 0.5}
