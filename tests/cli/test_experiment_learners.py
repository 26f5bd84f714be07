"""`dragoman experiment` with methods that learn by themselves: the same folders, tables and pictures as the others."""

import csv
import json

import pytest

pytestmark = pytest.mark.slow

PLAN = """
model = "{model}"
source = "dev.s"
reference = "dev.t"
seeds = [3]
prepared = true

[validation]
validation_rule = "max-translation"
validation_evidence = "samples"
validation_samples = 20

[held_out]
source = "held.s"
reference = "held.t"

[[method]]
name = "risk"
use = "risk-corpus"
options = {{ minibatch = 10, samples = 20, burn_in = 5, updates = 4, evaluate_every = 2 }}

[[method]]
name = "samplerank"
options = {{ epochs = 2, chains = 2, samples = 20, burn_in = 10 }}

[[method]]
name = "mira-online"
options = {{ passes = 2, oracle = "local" }}

[[test]]
name = "test"
source = "held.s"
reference = "held.t"

[[decision]]
name = "max-derivation"

[[decision]]
name = "MBR"
use = "mbr"
evidence = "samples"
sampling = {{ samples = 20, chains = 1, burn_in = 5 }}
"""


@pytest.fixture
def plan(toy, model, tmp_path):
    toy.write(tmp_path, dev=slice(20), held=slice(20, 30))
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.format(model=model), encoding="utf-8")
    return path


def test_learners_stand_beside_others(dragoman, plan, tmp_path):
    out = tmp_path / "out"
    result = dragoman("experiment", plan, "--out", out)
    assert result.code == 0, result.err
    with (out / "runs.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["method"], row["decision"]) for row in rows} == {
        (method, decision)
        for method in ("untuned", "risk", "samplerank", "mira-online")
        for decision in ("max-derivation", "MBR")
    }
    for method in ("risk", "samplerank", "mira-online"):
        lines = (out / "runs" / method / "3" / "events.jsonl").read_text(encoding="utf-8").splitlines()
        events = [json.loads(line) for line in lines]
        assert len(events) == 3
        assert events[-1]["stop"]
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "temperature" in report
    assert "risk / MBR" in report
    assert report.count("hope and fear</h2>") == 1
    assert "mira-online: hope and fear" in report
    assert "µ = ∞" in report
    look = json.loads((out / "runs" / "mira-online" / "3" / "last_look.json").read_text(encoding="utf-8"))
    lines = (tmp_path / "dev.s").read_text(encoding="utf-8").splitlines()
    assert look["source"] == lines[look["sentence"] - 1]


def test_what_learners_need_is_checked_before(dragoman, plan, tmp_path):
    for old, new, found in [
        ('validation_rule = "max-translation"', 'validation_rule = "magic"', "magic"),
        ('validation_rule = "max-translation"', 'judged_by = "mbr"', "judged_by"),
        ('source = "held.s"', 'sources = "held.s"', "sources"),
    ]:
        text = plan.read_text(encoding="utf-8")
        broken = plan.with_name("broken.toml")
        broken.write_text(text.replace(old, new, 1), encoding="utf-8")
        result = dragoman("experiment", broken, "--out", tmp_path / "broken")
        assert result.code != 0
        assert found in result.err
        assert "Traceback" not in result.err
        assert not (tmp_path / "broken").exists()
