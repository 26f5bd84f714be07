"""The loop around a learner: it judges, keeps the best, stops for many reasons, and goes on after a kill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.decision.max_derivation import MaxDerivation
from dragoman.decision.max_translation import MaxTranslation
from dragoman.decision.mbr import Mbr
from dragoman.decision.settings import Decision
from dragoman.sampling.schedule import Sampling
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Checkpoint, Learner, TrainingSet
from dragoman.tuning.runs.batch_training import BatchTraining
from dragoman.tuning.runs.loop import Loop, OnlineTraining, run_tuning
from dragoman.tuning.runs.run import Run
from dragoman.tuning.runs.validator import Validated, Validation
from oracles.toy_decoder import ToyDecoder, task_for, tune

START = Weights({"a": 0.0, "b": 1.0})
SCORES = [1.0, 3.0, 2.0, 2.5, 2.0]


@dataclass(frozen=True)
class Counter(Learner):
    """Adds 1 to a weight at each checkpoint."""

    name: ClassVar[str] = "counter"
    last: int = 4
    grown: str = "1"

    def checkpoints(self, training_set, start, state, seed, runtime):
        at = 0 if state is None else int(state["at"])
        weights = start
        while at < self.last:
            at += 1
            weights = weights.updated({"a": (weights["a"] + 1) * float(self.grown)})
            yield Checkpoint(weights, {"at": np.array(at)}, {"at": at}, "all is learnt" if at == self.last else None)


class Voice(Progress):
    """Remembers what it was told."""

    def __init__(self):
        self.said = []

    def warn(self, text):
        self.said.append(text)


@pytest.fixture
def training_set():
    return TrainingSet(translator=None, lines=["x"], scorer=None, names=["a"])


def learn(run, training_set, learner, judge, start, validation=Validation(), *, keep="best", runtime=Runtime()):
    training = OnlineTraining(learner, training_set)
    return run_tuning(run, training, start, keep=keep, validator=judge, validation=validation, runtime=runtime)


def judge(weights, *, runtime):
    return Validated(SCORES[int(weights["a"])], {"held_out_entropy": 2.5})


def begun(tmp_path, name="run"):
    return Run.begin(tmp_path / name, {"seed": 1})


def contents(folder):
    kept = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            kept[str(path.relative_to(folder))] = "" if path.suffix in (".npz", ".npy") else path.read_text()
    events = kept.pop("events.jsonl").splitlines()
    return kept, [line.partition('"seconds"')[0] for line in events]


def test_the_best_weights_are_kept(training_set, tmp_path):
    run = begun(tmp_path)
    assert learn(run, training_set, Counter(), judge, START)["a"] == 1
    assert [event["score"] for event in run.events()] == SCORES
    assert [event["stop"] for event in run.events()] == [None] * 4 + ["all is learnt"]
    assert [run.weights(i)["a"] for i in range(5)] == [0, 1, 2, 3, 4]
    assert [event.get("at") for event in run.events()] == [1, 2, 3, 4, None]
    assert [event["held_out_entropy"] for event in run.events()] == [2.5] * 5
    assert learn(begun(tmp_path, "last"), training_set, Counter(), judge, START, keep="last")["a"] == 4
    assert (
        learn(begun(tmp_path, "low"), TrainingSet(None, ["x"], None, ["a"], sign=-1), Counter(), judge, START)["a"] == 0
    )


@pytest.mark.parametrize("calls", [1, 2, 3, 4, 5])
def test_a_run_that_was_interrupted_ends_like_one_that_was_not(calls, training_set, tmp_path):
    whole = begun(tmp_path, "whole")
    learn(whole, training_set, Counter(), judge, START)
    left = calls

    def interrupted(weights, *, runtime):
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return judge(weights, runtime=runtime)

    run = begun(tmp_path)
    if calls < 5:
        with pytest.raises(KeyboardInterrupt):
            learn(run, training_set, Counter(), interrupted, START)
    learn(run, training_set, Counter(), judge, START)
    assert contents(run.folder) == contents(whole.folder)
    before = contents(run.folder)
    learn(run, training_set, Counter(), judge, START)
    assert contents(run.folder) == before


def test_patience_and_time_end(training_set, tmp_path):
    run = begun(tmp_path)
    learn(run, training_set, Counter(), judge, START, Validation(patience=2))
    assert [event["stop"] for event in run.events()] == [None] * 3 + ["no better score at the last 2 checkpoints"]
    run = begun(tmp_path, "time")
    learn(run, training_set, Counter(), judge, START, Validation(max_minutes=0.0))
    assert [event["stop"] for event in run.events()] == [None, "the time is over"]


@pytest.mark.parametrize("grown", ["1e5", "nan", "inf"])
def test_weights_that_diverge_are_noticed(grown, training_set, tmp_path):
    voice = Voice()
    run = begun(tmp_path)
    learn(run, training_set, Counter(grown=grown), judge, START, runtime=Runtime(progress=voice))
    assert [event["stop"] for event in run.events()] == ["the weights diverge; the last good ones are kept"]
    assert run.weights() == START
    assert voice.said == ["after iteration 1 weights are not finite or larger than 10000"]


def test_a_learner_that_has_nothing_to_say_ends_the_run(training_set, tmp_path):
    run = begun(tmp_path)
    assert learn(run, training_set, Counter(last=0), judge, START) == START
    assert [event["stop"] for event in run.events()] == ["there is nothing more to learn"]


def test_the_rule_sees_as_many_samples_as_asked_for(tmp_path):
    asked = Validation(validation_rule="mbr", validation_evidence="samples", validation_samples=10_000)
    assert asked.decision().sampling == Sampling(samples=10_000)
    assert Validation(validation_rule="mbr", validation_evidence="samples").decision().sampling.samples == 200
    file = tmp_path / "mbr.toml"
    known = Decision(Mbr(hypotheses=50), "samples", sampling=Sampling(samples=700, temperature=0.2))
    file.write_text(known.format())
    assert Validation(validation_rule=str(file)).decision() == known
    fewer = Validation(validation_rule=str(file), validation_samples=30)
    assert fewer.decision().sampling == Sampling(samples=30, temperature=0.2)
    assert Validation().decision().sampling is None
    assert Validation().decision(global_features=True).sampling.samples == 200


def test_further_rules_see_the_same_evidence(tmp_path):
    file = tmp_path / "frequent.toml"
    file.write_text('rule = "max-derivation"\noptions = { samples_by = "frequency" }\n')
    asked = Validation(validation_rule="mbr", validation_evidence="samples", validation_more=f"max-translation,{file}")
    rules = asked.more_rules(asked.decision())
    assert rules == {"max_translation": MaxTranslation(), "frequent": MaxDerivation(samples_by="frequency")}
    for wrong, found in (("lattice-mbr", "decides by hypergraphs, not by samples"), ("magic", "magic")):
        asked = Validation(validation_rule="mbr", validation_evidence="samples", validation_more=wrong)
        with pytest.raises(UsageError, match=found):
            asked.more_rules(asked.decision())
    lists = Validation(validation_rule="mbr", validation_more="max-translation")
    with pytest.raises(UsageError, match="not decide by the same n-best lists"):
        lists.more_rules(lists.decision())


def test_old_folders_know_the_number_of_samples():
    assert Validation().description()["validation_samples"] == 200
    assert Validation(validation_samples=9).description()["validation_samples"] == 9


BAD = Weights({"adequacy": 0.0, "length": -1.0, "noise": 1.0, "fixed": 7.0})


def held_out(weights, *, runtime):
    """A text on which weights are the better the smaller that of adequacy is, other than on the tuning set."""
    return Validated(-float(weights["adequacy"]))


def tuned(folder, validator=held_out, validation=Validation()):
    tuner = TUNERS.get("mert")()
    training = BatchTraining(tuner, task_for(ToyDecoder(), tuner), Loop(iterations=3, keep="held-out"))
    run = Run.begin(folder, {"seed": 1})
    run_tuning(run, training, BAD, keep="held-out", validator=validator, validation=validation, seed=3)
    return run


def test_an_optimiser_keeps_what_is_best_on_held_out_text(tmp_path):
    run = tuned(tmp_path / "run")
    events = run.events()
    assert [event["score"] for event in events] == [
        held_out(run.weights(i), runtime=None).score for i in range(len(events))
    ]
    assert events[-1]["tuning_score"] > events[0]["tuning_score"] + 5
    assert run.weights() == BAD
    assert events[-1]["stop"]
    plain = Run.begin(tmp_path / "plain", {"seed": 1})
    tuner = TUNERS.get("mert")()
    tune(plain, task_for(ToyDecoder(), tuner), tuner, BAD, Loop(iterations=3), seed=3)
    assert [event["score"] for event in plain.events()] == [event["tuning_score"] for event in events]


@pytest.mark.slow
@pytest.mark.parametrize("calls", [1, 2, 3])
def test_an_optimiser_that_is_validated_can_be_interrupted(calls, tmp_path):
    whole = tuned(tmp_path / "whole")
    left = calls

    def interrupted(weights, *, runtime):
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return held_out(weights, runtime=runtime)

    with pytest.raises(KeyboardInterrupt):
        tuned(tmp_path / "run", interrupted)
    assert contents(tuned(tmp_path / "run").folder) == contents(whole.folder)
