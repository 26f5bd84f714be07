"""The loop that all methods share: it improves, stops, keeps the best, and goes on after a kill to the same end."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import BusyError, DataError
from dragoman.core.feature_rows import Weights
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Optimum, Tuner
from dragoman.tuning.runs.batch_training import reason_to_stop, say_how_long
from dragoman.tuning.runs.loop import UNCHANGED, Loop, select_weights
from dragoman.tuning.runs.run import Record, Run
from dragoman.tuning.runs.trust_region import TrustRegion, degrees_between
from oracles.toy_decoder import NAMES, ToyDecoder, task_for, task_of, tune

START = Weights({"adequacy": 0.0, "length": -1.0, "noise": 1.0, "fixed": 7.0})
LOOP = Loop(iterations=4)
EXPLORATIONS = TrustRegion().explorations


def begin(folder):
    return Run.begin(folder, {"seed": 1})


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TUNERS.names() if issubclass(TUNERS.get(name), Tuner)])
def test_every_method_learns_what_matters(name, tmp_path):
    decoder = ToyDecoder()
    options = {"samples": 2000, "starts": 2} if name == "lus" else {}
    tuner = TUNERS.get(name)(**options)
    # What matters is more than three of the largest turns away from the start.
    found = tune(begin(tmp_path / "run"), task_for(decoder, tuner), tuner, START, Loop(iterations=8))
    assert found["fixed"] == 7.0
    events = Run(tmp_path / "run").events()
    assert max(e["score"] for e in events) > events[0]["score"] + 5
    assert found["adequacy"] > abs(found["noise"])


def test_what_it_ends_with_is_the_best_that_it_measured(tmp_path):
    decoder = ToyDecoder()
    run = begin(tmp_path / "run")
    found = tune(run, task_of(decoder), TUNERS.get("pro")(), START, LOOP)
    events = run.events()
    best = max(events, key=lambda event: event["score"])
    assert dict(found) == dict(run.weights(best["iteration"] - 1))
    assert [event["iteration"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["stop"]
    assert not any(event["stop"] for event in events[:-1])


class Killed(BaseException):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["decoding", "recording", "weights"])
def test_a_killed_run_goes_on_to_the_same_end(moment, tmp_path, monkeypatch):
    whole = begin(tmp_path / "whole")
    tune(whole, task_of(ToyDecoder()), TUNERS.get("mert")(), START, LOOP, seed=3)

    for stop_at in range(1, 4):
        run = begin(tmp_path / f"killed{stop_at}")
        decoder = ToyDecoder()
        with monkeypatch.context() as patch:
            _die(patch, moment, stop_at, decoder)
            with pytest.raises(Killed):
                tune(run, task_of(decoder), TUNERS.get("mert")(), START, LOOP, seed=3)
        again = begin(tmp_path / f"killed{stop_at}")
        tune(again, task_of(ToyDecoder()), TUNERS.get("mert")(), START, LOOP, seed=3)
        assert dict(again.weights()) == dict(whole.weights())
        assert _without_times(again.events()) == _without_times(whole.events())


def _die(patch, moment, stop_at, decoder):
    """Let the run end as by kill -9 in its iteration number `stop_at`."""
    if moment == "decoding":
        decode = ToyDecoder.__call__

        def dying(self, weights, *, runtime):
            if self.calls == stop_at - 1:
                raise Killed
            return decode(self, weights, runtime=runtime)

        patch.setattr(ToyDecoder, "__call__", dying)
    else:
        method = "record" if moment == "recording" else "write_weights"
        real, counted = getattr(Run, method), []

        def dying_write(self, *arguments):
            counted.append(1)
            if len(counted) == (stop_at if moment == "recording" else 2 + 2 * stop_at):
                raise Killed
            return real(self, *arguments)

        patch.setattr(Run, method, dying_write)


def _without_times(events):
    return [{key: value for key, value in event.items() if key != "seconds"} for event in events]


def test_other_options_do_not_go_on_with_a_run(tmp_path):
    begin(tmp_path / "run")
    with pytest.raises(DataError, match="seed = 1, not 2"):
        Run.begin(tmp_path / "run", {"seed": 2})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(DataError, match="not a tuning run"):
        begin(tmp_path / "other")


@dataclass(frozen=True)
class Broken(Tuner):
    """Gives what no method should."""

    name: ClassVar[str] = "broken"
    value: float = 0.0

    def improve(self, problem, start, rng, runtime):
        return Optimum(np.full(len(start), self.value if self.value else 0.0), 0.0)


def test_degenerate_weights_are_noticed(tmp_path):
    with pytest.raises(DataError, match="all zero"):
        tune(begin(tmp_path / "run"), task_of(ToyDecoder()), Broken(), START, LOOP)
    assert dict(Run(tmp_path / "run").weights()) == dict(START)


class Listening(Progress):
    def __init__(self):
        self.said = []

    def warn(self, text):
        self.said.append(text)

    def note(self, text):
        self.said.append(text)


def test_odd_translations_are_said(tmp_path):
    decoder = ToyDecoder()
    decoder.references = ["nothing of the kind"] * 30
    listening = Listening()
    tune(
        begin(tmp_path / "run"),
        task_of(decoder),
        TUNERS.get("mert")(),
        START,
        LOOP,
        runtime=Runtime(progress=listening),
    )
    assert any("score 0" in text for text in listening.said)


def test_events_are_lines_of_json_and_half_a_line_does_not_count(tmp_path):
    run = begin(tmp_path / "run")
    run.record(Record(1, 1.5))
    with (tmp_path / "run" / "events.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"iteration": 2, "sco')
    assert run.events() == [{"iteration": 1, "score": 1.5, "stop": None, "seconds": {}}]
    run.record(Record(2, 2.0))
    lines = (tmp_path / "run" / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [1, 2]


def test_lists_without_change_end_the_run(tmp_path):
    decoder = ToyDecoder(size=100)
    run = begin(tmp_path / "run")
    tune(run, task_of(decoder), TUNERS.get("mert")(), START, Loop(iterations=10))
    assert run.events()[-1]["stop"] == "the lists do not change any more"
    assert decoder.calls == 2


def test_the_average_is_of_the_second_half(tmp_path):
    run = begin(tmp_path / "run")
    found = tune(run, task_of(ToyDecoder()), TUNERS.get("pro")(), START, Loop(iterations=4, keep="average"))
    count = len(run.events())
    later = np.array([run.weights(i).vector(NAMES) for i in range(count // 2 + 1, count + 1)])
    mean = (later / np.abs(later).sum(axis=1, keepdims=True)).mean(axis=0)
    assert found.vector(NAMES) == pytest.approx(mean, rel=1e-12)
    assert found["fixed"] == 7.0


def test_weights_go_a_part_of_the_way(tmp_path):
    run = begin(tmp_path / "run")
    tune(run, task_of(ToyDecoder()), Half(), START, Loop(iterations=1, max_angle=180))
    assert run.weights(1).vector(NAMES).tolist() == [0.375, -0.375, 0.75]
    whole = begin(tmp_path / "whole")
    tune(whole, task_of(ToyDecoder()), Half(), START, Loop(iterations=1, interpolation=1.0))
    assert whole.weights(1).vector(NAMES).tolist() == [0.75, 0.0, 0.75]


@dataclass(frozen=True)
class Half(Tuner):
    """Always finds the same, and would go half the way there."""

    name: ClassVar[str] = "half"
    region: ClassVar[TrustRegion | None] = TrustRegion(part=0.5)

    def improve(self, problem, start, rng, runtime):
        return Optimum(np.array([0.75, 0.0, 0.75]), 0.0)


def test_weights_turn_only_as_far_from_what_was_decoded_as_they_may(tmp_path):
    run = begin(tmp_path / "run")
    tune(run, task_of(ToyDecoder()), Away(), START, Loop(iterations=3))
    places = [run.weights(i).vector(NAMES) for i in range(4)]
    turns = [degrees_between(one, other) for one, other in itertools.pairwise(places)]
    assert max(turns) <= 30
    assert min(turns[:2]) > 15
    assert [event["step"] < 1 for event in run.events()[:2]] == [True, True]
    whole = begin(tmp_path / "whole")
    tune(whole, task_of(ToyDecoder()), Away(), START, Loop(iterations=1, max_angle=180))
    assert whole.weights(1).vector(NAMES).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.slow
def test_the_loop_holds_back_methods_that_may_overshoot(tmp_path):
    near, far = begin(tmp_path / "near"), begin(tmp_path / "far")
    tune(near, task_of(ToyDecoder()), Overshooting(), START, Loop(iterations=1))
    tune(far, task_of(ToyDecoder()), Away(), START, Loop(iterations=1))
    assert near.events()[0]["step"] < far.events()[0]["step"]


@dataclass(frozen=True)
class Away(Tuner):
    """Always goes far away from where it begins."""

    name: ClassVar[str] = "away"

    def improve(self, problem, start, rng, runtime):
        return Optimum(np.array([1.0, 0.0, 0.0]), 0.0)


@dataclass(frozen=True)
class Overshooting(Away):
    """The same, of a method that is known to go on where it gains nothing."""

    name: ClassVar[str] = "overshooting"
    region: ClassVar[TrustRegion | None] = TrustRegion(enough=0.95)


@dataclass(frozen=True)
class Several(Tuner):
    """Finds an optimum that is far away, one that is as far in the right direction, and one in a wrong one."""

    name: ClassVar[str] = "several"

    def improve(self, problem, start, rng, runtime):
        return Optimum(np.array([0.0, 0.0, -1.0]), 1.0, others=np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))


def test_of_several_optima_beyond_reach_the_loop_goes_towards_what_is_best_within(tmp_path):
    run = begin(tmp_path / "run")
    decoder = ToyDecoder()
    tune(run, task_of(decoder), Several(), START, Loop(iterations=1))
    (first, second) = run.events()
    assert first["step"] < 1
    assert degrees_between(run.weights(1).vector(NAMES), START.vector(NAMES)) <= Loop().max_angle
    # Adequacy is what matters, and weights have moved towards it, and towards nothing else.
    assert run.weights(1)["adequacy"] > 0
    assert second["score"] > first["score"]
    ratio = run.weights(1)["length"] / run.weights(1)["noise"]
    assert ratio == pytest.approx(START["length"] / START["noise"])


@dataclass(frozen=True)
class Content(Tuner):
    """Finds nothing better than the start, and something next to it."""

    name: ClassVar[str] = "content"

    def improve(self, problem, start, rng, runtime):
        return Optimum(start, 1.0, others=np.array([[1.0, 0.0, 0.0]]))


def test_a_method_that_finds_nothing_better_looks_a_little_further(tmp_path):
    run = begin(tmp_path / "run")
    tune(run, task_of(ToyDecoder()), Content(), START, Loop(iterations=2))
    names = NAMES
    turns = [degrees_between(run.weights(i).vector(names), run.weights(i + 1).vector(names)) for i in range(2)]
    assert 1 < turns[0] <= TrustRegion().min_radius
    assert len(run.events()) == 3, "it went on"


@dataclass(frozen=True)
class Wrong(Tuner):
    """Finds nothing better than the start, and would lead to worse."""

    name: ClassVar[str] = "wrong"

    def improve(self, problem, start, rng, runtime):
        return Optimum(start, 1.0, others=np.array([[-1.0, 0.0, 0.0]]))


def test_looks_that_find_nothing_end_the_run(tmp_path):
    run = begin(tmp_path / "run")
    listening = Listening()
    found = tune(run, task_of(ToyDecoder()), Wrong(), START, Loop(iterations=12), runtime=Runtime(progress=listening))
    assert len(run.events()) == EXPLORATIONS + 1
    said = [text for text in listening.said if text != UNCHANGED]
    assert ["looking further" in text for text in said] == [True] * EXPLORATIONS + [False]
    assert all(event["further"] for event in run.events())
    assert "further on" in run.events()[-1]["stop"]
    assert dict(found) == dict(START)


def test_a_run_that_ends_where_it_began_says_so_once(tmp_path):
    def runs(tuner, folder):
        listening = Listening()
        run = begin(tmp_path / folder)
        for _ in range(2):  # the second time it has ended already
            tune(run, task_of(ToyDecoder()), tuner, START, Loop(iterations=12), runtime=Runtime(progress=listening))
        return [record.unchanged for record in run.records()], listening.said

    told, said = runs(Wrong(), "wrong")
    assert told == [False] * EXPLORATIONS + [True]
    assert said.count(UNCHANGED) == 1
    assert said[-1] == UNCHANGED
    told, said = runs(TUNERS.get("mert")(), "mert")
    assert not any(told)
    assert UNCHANGED not in said


def test_looks_that_find_something_do_not(tmp_path):
    run = begin(tmp_path / "run")
    tune(run, task_of(ToyDecoder()), Content(), START, Loop(iterations=6))
    scores = [event["score"] for event in run.events()]
    assert scores == sorted(scores)
    assert len(scores) > EXPLORATIONS + 1


class Brittle(ToyDecoder):
    """Falls to pieces where the weight of adequacy is above a quarter of that of noise."""

    def __call__(self, weights, *, runtime):
        spoilt = weights["adequacy"] > 0.25 * abs(weights["noise"])
        return super().__call__(
            Weights({"adequacy": -1.0, "length": 0.0, "noise": 0.0}) if spoilt else weights, runtime=runtime
        )

    def translate(self, weights, sentences):
        return Corpus.from_lines([self(weights, runtime=Runtime()).first().lines()[i] for i in sentences.tolist()])


def test_large_steps_are_tried_on_some_sentences_before_they_are_made(tmp_path):
    blind, careful = begin(tmp_path / "blind"), begin(tmp_path / "careful")
    tune(blind, task_of(Brittle()), Away(), START, Loop(iterations=1))
    decoder = Brittle()
    tune(careful, replace(task_of(decoder), translate=decoder.translate), Away(), START, Loop(iterations=1))
    start, fallen = (event["score"] for event in blind.events())
    assert fallen < 0.9 * start
    assert careful.events()[1]["score"] > 0.95 * start
    assert 0 < careful.events()[0]["step"] < blind.events()[0]["step"]


def test_two_cannot_work_in_one_folder(tmp_path):
    busy = pytest.raises(BusyError, match="run: is being worked on by another process")
    with Run.claimed(tmp_path / "run", {"seed": 1}) as run:
        run.write_weights(START)
        for options in ({"seed": 1}, {"seed": 2}):
            with busy, Run.claimed(tmp_path / "run", options, restart=True):
                pass
        assert run.weights() == START
    with Run.claimed(tmp_path / "run", {"seed": 2}, restart=True) as run:
        assert run.options["seed"] == 2


def test_averages_leave_shares_of_mixed_tables_as_large_as_they_are(tmp_path):
    names = ["lm", "mix.tm.fwd.a", "mix.tm.fwd.b"]
    run = begin(tmp_path / "run")
    for i, values in enumerate(([2.0, 0.5, 0.5], [4.0, 0.6, 0.4], [4.0, 0.8, 0.2])):
        run.write_weights(Weights(dict(zip(names, values, strict=True))), i)
    task = replace(task_of(ToyDecoder(sentences=2)), names=names)
    found = select_weights(run, [Record(1, 1.0), Record(2, 2.0)], task, "average")
    np.testing.assert_allclose(found.vector(names), [1.0, 0.8, 0.2])


def test_a_run_goes_on_while_shares_change():
    names, loop = ["lm", "mix.tm.fwd.a"], Loop(minimum_change=1e-4)
    before, same, other = (Weights({"lm": 1.0, "mix.tm.fwd.a": share}) for share in (0.5, 0.50001, 0.6))
    assert reason_to_stop(1, 1, names, before, same, loop) == "the weights do not change any more"
    assert reason_to_stop(1, 1, names, before, other, loop) is None


@pytest.mark.parametrize(
    ("seconds", "said"), [(1.4, []), (30.0, ["about 10 min for 20 iterations, or less if the run converges earlier"])]
)
def test_a_long_run_says_how_long_it_may_take(seconds, said):
    notes = []

    class Noted(Progress):
        def note(self, text):
            notes.append(text)

    say_how_long(seconds, 20, runtime=Runtime(progress=Noted()))
    assert notes == said


class Recording(ToyDecoder):
    """Remembers the weights that it was asked to decode with, and refuses to try any on a sample."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def __call__(self, weights, *, runtime):
        self.asked.append(weights.vector(NAMES).tolist())
        return super().__call__(weights, runtime=runtime)

    def translate(self, weights, sentences):
        raise AssertionError("a step was tried")


@dataclass(frozen=True)
class Listed(Tuner):
    """Proposes what it is told, one iteration after the other, and something else besides; the last is no change."""

    name: ClassVar[str] = "listed"
    region: ClassVar[TrustRegion | None] = TrustRegion(enough=0.95)
    proposals: ClassVar[list[list[float]]] = [[-1.0, 0.0, 0.0], [1.0, 1.0, -1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]

    def improve(self, problem, start, rng, runtime):
        later = [i for i, one in enumerate(self.proposals) if one == start.tolist()]
        proposal = self.proposals[later[0] + 1 if later else 0]
        return Optimum(np.array(proposal), 1.0, others=np.array([[0.0, 1.0, 0.0]]))


@pytest.mark.parametrize(
    "loop", [Loop(max_angle=180), Loop(interpolation=1.0), Loop(30, 1e-4, 1.0, 180), Loop(preset="schuth")]
)
def test_without_a_trust_region_the_loop_decodes_with_just_what_the_optimiser_gives(loop, tmp_path):
    decoder, run = Recording(), begin(tmp_path / "run")
    tune(run, replace(task_of(decoder), translate=decoder.translate), Listed(), START, loop)
    assert decoder.asked == [START.vector(NAMES).tolist(), *Listed.proposals[:3]]
    assert [event["stop"] for event in run.events()] == [None] * 3 + ["the weights do not change any more"]
    assert not any("further" in event for event in run.events())


class HalfWay(Listed):
    """The same, of a method that goes half the way by default."""

    region: ClassVar[TrustRegion | None] = TrustRegion(part=0.5)


def test_the_loop_of_schuth_takes_all_of_a_proposal_and_keeps_the_last_weights(tmp_path):
    decoder, run = Recording(), begin(tmp_path / "run")
    found = tune(run, task_of(decoder), HalfWay(), START, Loop(preset="schuth"))
    assert decoder.asked == [START.vector(NAMES).tolist(), *Listed.proposals[:3]]
    assert run.events()[-1]["stop"] == "the weights do not change any more"
    assert found.vector(NAMES).tolist() == Listed.proposals[-1]
    assert Loop(preset="schuth", keep="best").keep == "best"
    assert Loop.from_dict(Loop(preset="schuth").to_dict()) == Loop(preset="schuth")


def test_records_are_read_as_they_are_written_and_those_of_older_runs_too():
    record = Record(3, 30.5, {"step": 0.3, "objective": None}, None, {"decode": 1.0, "optimise": 2.5})
    event = record.to_event()
    assert list(event) == ["iteration", "score", "step", "objective", "stop", "seconds"]
    assert Record.from_event(event) == record
    assert record.total_seconds == 3.5
    judged = Record(1, 2.0, {"at": 1.0}, None, {"judge": 1.0}, validated=True, ends="all is learnt")
    assert list(judged.to_event()) == ["iteration", "score", "at", "ends", "stop", "seconds"]
    assert Record.from_event(judged.to_event()) == judged
    last = replace(record, stop="all iterations are done", unchanged=True)
    assert Record.from_event(last.to_event()) == last
    older = {"iteration": 1, "score": 1.0, "stop": None}
    assert [Record.from_event(older | more).total_seconds for more in ({}, {"seconds": 4.0})] == [0.0, 4.0]
    with pytest.raises(DataError, match="recorded in version 2; expected version 1"):
        Record.from_event(older | {"version": 2})
