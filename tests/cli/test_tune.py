"""`dragoman tune`: runs are folders that hold the best weights so far and can be gone on with."""

import json
import math
import shutil
import signal
import subprocess
import time
import tomllib

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.runtime import Runtime
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.search.translator import Translator
from dragoman.tuning.methods.mert import Mert
from dragoman.tuning.runs.job import Job
from dragoman.tuning.runs.loop import Loop
from dragoman.tuning.runs.run import Run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dev(toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dev")
    for name, side in (("s", "source"), ("t", "target")):
        lines = [" ".join(getattr(pair, side)) for pair in toy.pairs[:30]]
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def arguments(model, dev, out, *more):
    files = ["--source", dev / "s", "--reference", dev / "t", "--out", out]
    return ["tune", "--model", model, *files, "--iterations", 2, "--nbest", 20, "--threads", 1, *more]


@pytest.mark.parametrize("method", ["mert", "pro"])
def test_weights_get_better_and_can_be_used(dragoman, model, dev, tmp_path, method):
    start = tmp_path / "start"
    bad = dict.fromkeys(Model.load(model).feature_names, -0.2)
    Weights(bad).write(start)
    out = tmp_path / "run"
    result = dragoman(*arguments(model, dev, out, "--method", method, "--start", start, "--interpolation", 1))
    assert result.code == 0, result.err
    events = [json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert max(event["score"] for event in events) > events[0]["score"] + 10
    translated = dragoman("translate", "--model", model, "--weights", out, dev / "s").out
    right = sum(a == b for a, b in zip(translated.split("\n"), (dev / "t").read_text().split("\n"), strict=True))
    assert right > 15


def test_the_same_command_goes_on_and_another_is_refused(dragoman, model, dev, tmp_path):
    out = tmp_path / "run"
    assert dragoman(*arguments(model, dev, out)).code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    assert dragoman(*arguments(model, dev, out)).code == 0
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    result = dragoman(*arguments(model, dev, out, "--seed", 2))
    assert result.code == 1
    assert "begun with seed = 1, not 2" in result.error


def test_a_preset_replaces_defaults_and_nothing_that_is_given(dragoman, model, dev, tmp_path):
    more = {"schuth": [], "best": ["--keep", "best", "--range", "lm=0,1"]}
    for name, given in more.items():
        result = dragoman(*arguments(model, dev, tmp_path / name, "--preset", "schuth", *given))
        assert result.code == 0, result.err
    first, second = (tomllib.loads((tmp_path / name / "run.toml").read_text(encoding="utf-8")) for name in more)
    wanted = {"preset": "schuth", "interpolation": 1.0, "max_angle": 180.0, "keep": "last", "iterations": 2}
    assert wanted.items() <= first["loop"].items()
    assert (second["loop"]["keep"], second["loop"]["interpolation"]) == ("best", 1.0)
    texts = {"model": model, "source": dev / "s", "references": (dev / "t",), "tuner": Mert()}
    for ranges in ({}, {"lm": (0.0, 1.0)}):
        job = Job(**texts, loop=Loop(preset="schuth"), ranges=ranges)
        training, _ = job._training(Model.load(model), Runtime())
        found = training.task.ranges
        assert found["lm"] == ranges.get("lm", (0.0, 2.0))
        assert (found["tm.fwd"], found["phrase_penalty"]) == ((0.0, 0.5), (0.0, 0.5))
    assert "preset" not in Loop().to_dict()  # so that runs that were begun before can be continued


@pytest.mark.parametrize("method", ["risk-forest", "likelihood"])
def test_methods_on_hypergraphs_ask_for_them_and_go_on(dragoman, model, dev, tmp_path, method):
    out, again = tmp_path / "run", tmp_path / "again"
    options = ["--method", method, "--density", 5]
    result = dragoman(*arguments(model, dev, out, *options))
    assert result.code == 0, result.err
    assert 'evidence = "hypergraph"' in (out / "run.toml").read_text(encoding="utf-8")
    events = (out / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    first = json.loads(events[0])
    assert method != "likelihood" or first["reached"] + first["surrogates"] == 30
    # As if it had been killed after the first iteration.
    shutil.copytree(out, again)
    (again / "events.jsonl").write_text(events[0], encoding="utf-8")
    assert dragoman(*arguments(model, dev, again, *options)).code == 0
    assert (again / "weights" / "002.txt").read_bytes() == (out / "weights" / "002.txt").read_bytes()
    result = dragoman(*arguments(model, dev, tmp_path / "lists", *options, "--evidence", "nbest"))
    assert result.code == 2
    assert f"{method} works on hypergraphs only" in result.err


def test_references_that_are_too_large_to_look_for_have_surrogates(dragoman, model, dev, tmp_path):
    options = ["--method", "likelihood", "--density", 5, "--pop-limit", 2, "--max-size", 60]
    result = dragoman(*arguments(model, dev, tmp_path / "run", *options))
    assert result.code == 0, result.err
    first = json.loads((tmp_path / "run" / "events.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert 0 < first["reached"] < 30
    assert result.warnings[0].startswith(f"{30 - first['reached']} of 30 references were not searched for")


def test_bad_input(dragoman, model, dev, tmp_path):
    out = tmp_path / "run"
    short = tmp_path / "short"
    short.write_text("one line\n", encoding="utf-8")
    broken = shutil.copytree(dev, tmp_path / "broken")
    (broken / "t").write_bytes(b"\xff\n" * 30)
    for changed, code, found in [
        (["--reference", short], 1, "as many"),
        (["--method", "magic"], 2, "magic"),
        (["--method-option", "magic=1"], 2, "magic"),
        (["--metric", "magic"], 2, "magic"),
        (["--reference", broken / "t"], 1, "not UTF-8"),
    ]:
        result = dragoman(*arguments(model, dev, out, *changed))
        assert result.code == code
        assert found in result.err
        assert "Traceback" not in result.err
        assert not out.exists()


LEARNING = ["--method", "risk-corpus", *(f"--method-option={option}" for option in ("minibatch=10", "samples=20"))]
LEARNING += [f"--method-option={option}" for option in ("burn_in=5", "updates=9", "evaluate_every=3")]


def test_a_learner_is_judged_on_held_out_text_and_can_be_killed(command, dragoman, model, dev, tmp_path):
    for name in ("s", "t"):
        lines = (dev / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / f"{name}1").write_text("".join(lines[:20]), encoding="utf-8")
        (tmp_path / f"{name}2").write_text("".join(lines[15:]), encoding="utf-8")

    def learning(out):
        files = ["--source", tmp_path / "s1", "--reference", tmp_path / "t1", "--out", out, "--threads", 1]
        held = ["--held-out-source", tmp_path / "s2", "--held-out-reference", tmp_path / "t2"]
        return ["tune", "--model", model, *files, *held, *LEARNING, "--validation-rule", "mbr"]

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    result = dragoman(*learning(whole))
    assert result.code == 0, result.err
    assert "of the held-out sentences are also in the tuning set" in result.err
    events = [json.loads(line) for line in (whole / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [event.get("updates") for event in events] == [3, 6, 9, None]
    assert events[-1]["stop"] == "9 updates are done"
    process = subprocess.Popen([command, *map(str, learning(killed))], stderr=subprocess.DEVNULL)
    while process.poll() is None and not (killed / "events.jsonl").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert dragoman(*learning(killed)).code == 0
    assert (killed / "weights.txt").read_bytes() == (whole / "weights.txt").read_bytes()


def test_validation_by_samples_scores_what_translate_gives(dragoman, model, toy, tmp_path):
    toy.write(tmp_path, dev=slice(20), held=slice(40, 60))
    decision = ["--validation-rule", "mbr", "--validation-evidence", "samples", "--validation-samples", 30]
    decision += ["--validation-more", "max-derivation,max-translation"]
    out, held = tmp_path / "run", [tmp_path / "held.s", tmp_path / "held.t"]
    result = dragoman(
        *("tune", "--model", model, "--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t", "--out", out),
        *("--held-out-source", held[0], "--held-out-reference", held[1], *LEARNING, *decision, "--prepared"),
    )
    assert result.code == 0, result.err
    events = Run(out).events()
    assert len({event["score"] for event in events}) > 1
    assert all(0 < event["held_out_entropy"] <= math.log(60) for event in events)
    assert all(0 < event["entropy"] <= math.log(20) for event in events[:-1])
    rules = {"mbr": "score", "max-derivation": "held_out_max_derivation", "max-translation": "held_out_max_translation"}
    for iteration, event in enumerate(events):
        for rule, key in rules.items():
            given = ["--decision", rule, "--evidence", "samples", "--sampling-option", "samples=30", "--prepared"]
            weights = out / "weights" / f"{iteration:03}.txt"
            done = dragoman("translate", "--model", model, "--weights", weights, *given, held[0])
            assert done.code == 0, done.err
            scorer = Bleu().scorer([Corpus.read(held[1])])
            found = scorer.statistics(Corpus.from_lines(done.out.splitlines())).sum(axis=0)
            assert event[key] == pytest.approx(float(scorer.score(found)), abs=1e-9)


def test_any_method_can_be_validated_on_held_out_text(dragoman, model, dev, toy, tmp_path):
    toy.write(tmp_path, held=slice(40, 60))
    held = ["--held-out-source", tmp_path / "held.s", "--held-out-reference", tmp_path / "held.t"]
    more = ["--keep", "held-out", "--validation-rule", "consensus"]
    result = dragoman(*arguments(model, dev, tmp_path / "run", *held, *more))
    assert result.code == 0, result.err
    run = Run(tmp_path / "run")
    scores = [event["score"] for event in run.events()]
    assert all("tuning_score" in event for event in run.events())
    assert run.weights() == run.weights(scores.index(max(scores)))
    refused = dragoman(*arguments(model, dev, tmp_path / "other", *more))
    assert "keep is held-out, but there is no held-out text" in refused.error


@pytest.mark.parametrize("neighbours", ["local", "jump"])
def test_samplerank_keeps_the_weights_that_are_best_on_held_out_text(dragoman, model, dev, tmp_path, neighbours):
    texts = {name: (dev / name).read_text(encoding="utf-8").splitlines() for name in ("s", "t")}
    for name, lines in texts.items():
        (tmp_path / f"{name}1").write_text("".join(f"{line}\n" for line in lines[:15]), encoding="utf-8")
        (tmp_path / f"{name}2").write_text("".join(f"{line}\n" for line in lines[15:]), encoding="utf-8")
    out, few = tmp_path / "run", ["epochs=3", "samples=10", "burn_in=5", "aggressiveness=0.1", "chains=2"]
    options = [f"--method-option={option}" for option in [f"neighbours={neighbours}", *few]]
    files = ["--source", tmp_path / "s1", "--reference", tmp_path / "t1", "--out", out, "--threads", 1]
    held = ["--held-out-source", tmp_path / "s2", "--held-out-reference", tmp_path / "t2"]
    result = dragoman("tune", "--model", model, "--method", "samplerank", *files, *held, *options)
    assert result.code == 0, result.err
    events = [json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    translator = Translator.of(Model.load(model))
    scorer = Bleu().scorer([Corpus.from_lines(texts["t"][15:])])
    scores = []
    for number in range(len(events)):
        weights = Weights.read(out / "weights" / f"{number:03}.txt")
        found = [one.text for one in translator.reweighted(weights).translate(texts["s"][15:])]
        scores.append(float(scorer.score(scorer.statistics(Corpus.from_lines(found)).sum(axis=0))))
    assert [event["score"] for event in events] == pytest.approx(scores)
    best = int(np.argmax(scores))
    assert (out / "weights.txt").read_bytes() == (out / "weights" / f"{best:03}.txt").read_bytes()


def test_learners_refuse_what_cannot_work(dragoman, model, dev, tmp_path):
    out = tmp_path / "run"
    for changed, found in [
        (["--held-out-source", dev / "s"], "--held-out-source and --held-out-reference go together"),
        (["--validation-rule", "magic"], "magic"),
        (["--method-option", "decay=1"], "never falls"),
    ]:
        result = dragoman(*arguments(model, dev, out, *LEARNING[:2], *changed))
        assert result.code != 0
        assert found in result.err
        assert "Traceback" not in result.err
        assert not out.exists()
