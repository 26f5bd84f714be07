"""`dragoman tune --method mira-online`: learns, and goes on after a kill with the same result."""

import json
import signal
import subprocess
import time

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def tune(toy, model, tmp_path):
    toy.write(tmp_path, dev=slice(30), held=slice(30, 50))
    return [
        *("tune", "--model", model, "--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t", "--prepared"),
        *("--held-out-source", tmp_path / "held.s", "--held-out-reference", tmp_path / "held.t"),
        *("--method", "mira-online", "--method-option", "passes=4", "--method-option", "workers=3"),
    ]


def told(folder):
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    weights = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.txt"))}
    # Checksums are of all of a line, and so of how long it took.
    timed = ("seconds", "checksum")
    return [{name: value for name, value in event.items() if name not in timed} for event in events], weights


def test_a_killed_run_goes_on_to_the_same_end(dragoman, command, tune, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = dragoman(*tune, "--out", whole, "--threads", 2)
    assert done.code == 0, done.err
    assert "bleu" in done.out
    events, _ = told(whole)
    assert [event["stop"] for event in events] == [None] * 4 + ["4 passes"]
    assert {"translations", "oracles", "length_ratio"} <= events[0].keys()
    process = subprocess.Popen([*map(str, [command, *tune, "--out", killed])], stderr=subprocess.DEVNULL)
    while process.poll() is None and not (killed / "events.jsonl").exists():
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert dragoman(*tune, "--out", killed, "--threads", 1).code == 0
    assert told(killed) == told(whole)


def test_lists_of_others_have_no_forests(dragoman, tune, tmp_path):
    (tmp_path / "lists").write_text("0 ||| a ||| x= 1 ||| 1\n", encoding="utf-8")
    (tmp_path / "ref").write_text("a\n", encoding="utf-8")
    refused = dragoman(
        *("rerank", "tune", "--candidates", tmp_path / "lists", "--reference", tmp_path / "ref"),
        *("--method", "mira-online", "--out", tmp_path / "run"),
    )
    assert refused.code == 2
    assert "mira-online" in refused.err
