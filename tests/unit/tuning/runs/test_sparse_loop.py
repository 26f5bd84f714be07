"""Features whose names nobody knew before decoding are tuned as they occur."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.tuning import TUNERS
from dragoman.tuning.problems.evidence import DecodedLists
from dragoman.tuning.runs.loop import Loop
from dragoman.tuning.runs.run import Run
from oracles.toy_decoder import ToyDecoder, task_of, tune

pytestmark = pytest.mark.slow

START = Weights({"adequacy": 0.0, "length": -1.0, "noise": 1.0, "fixed": 7.0, "x.kept": 2.0})
LOOP = Loop(iterations=4)


class SparseDecoder(ToyDecoder):
    """Also tells which words a hypothesis has: `w.` names count, `x.` names are none of the tuner's business."""

    def __call__(self, weights, *, runtime):
        nbest = super().__call__(weights, runtime=runtime).nbest
        words = FeatureRows(
            tuple(f"w.{word}" for word in nbest.vocab),
            nbest.hypotheses.offsets,
            nbest.hypotheses.values,
            np.full(len(nbest.hypotheses.values), 0.1),
        ).used()
        other = FeatureRows.from_dense(["x.new"], np.ones((len(nbest.scores), 1)))
        return DecodedLists(replace(nbest, features=FeatureRows.join([nbest.features, words, other])))


def sparse(names):
    return {name: (-1.0, 1.0) for name in sorted(names) if name.startswith("w.")}


def task():
    return replace(task_of(SparseDecoder()), sparse=sparse)


@pytest.mark.parametrize("name", ["mira", "pro", "risk-nbest"])
def test_sparse_weights_are_found(name, tmp_path):
    run = Run.begin(tmp_path / "run", {"seed": 1})
    tune(run, task(), TUNERS.get(name)(), START, LOOP)
    later = [run.weights(event["iteration"]) for event in run.events()]
    assert max(event["score"] for event in run.events()) > run.events()[0]["score"] + 5
    for weights in later:
        names = list(weights)
        assert names[:5] == ["adequacy", "length", "noise", "fixed", "x.kept"]
        assert names[5:] == sorted(names[5:])
        assert names[5:]
        assert all(name.startswith("w.") and weights[name] for name in names[5:])
        assert (weights["fixed"], weights["x.kept"]) == (7.0, 2.0)


@pytest.mark.parametrize("fixed", [True, False])
def test_averages_and_runs_that_go_on(tmp_path, fixed):
    loop = replace(LOOP, keep="average")
    run = Run.begin(tmp_path / "run", {"seed": 1})
    start = START if fixed else Weights({name: START[name] for name in ("adequacy", "length", "noise")})
    found = tune(run, task(), TUNERS.get("mira")(), start, loop)
    later = [run.weights(i) for i in range(len(run.events()) // 2 + 1, len(run.events()) + 1)]
    names = ["adequacy", "length", "noise", *sparse({name for weights in later for name in weights})]
    vectors = np.array([weights.vector(names) for weights in later])
    # Weights are scaled to one size first, unless fixed ones set the scale.
    expected = (vectors if fixed else vectors / np.abs(vectors).sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_array_equal(found.vector(names), expected)
    again = tune(Run.begin(tmp_path / "run", {"seed": 1}), task(), TUNERS.get("mira")(), start, loop)
    assert dict(again) == dict(found)


def test_methods_that_do_not_scale_leave_sparse_weights_as_they_are(tmp_path):
    class TunesFew(TUNERS.get("mert")):
        most_features = 10

    notes = []

    class Noting(Progress):
        def note(self, text):
            notes.append(text)

    start = Weights({**START, "w.a": 0.5})
    run = Run.begin(tmp_path / "run", {"seed": 1})
    tune(run, task(), TunesFew(restarts=1), start, LOOP, runtime=Runtime(progress=Noting()))
    assert len([text for text in notes if "so those of sparse features stay as they are" in text]) == 1
    assert max(event["score"] for event in run.events()) > run.events()[0]["score"]
    for event in run.events():
        weights = run.weights(event["iteration"])
        assert {name: value for name, value in weights.items() if name.startswith("w.")} == {"w.a": 0.5}


def test_methods_that_do_not_scale_tune_a_few_sparse_weights(tmp_path):
    run = Run.begin(tmp_path / "run", {"seed": 1})
    found = tune(run, task(), TUNERS.get("mert")(restarts=1), START, LOOP)
    assert any(name.startswith("w.") for name in found)
