"""`dragoman model mix`, and commands that use a mixture."""

import json
import shutil

import pytest

from dragoman.core.feature_rows import Weights
from dragoman.model.bundle import Model

pytestmark = pytest.mark.slow


@pytest.fixture
def tables(model, tmp_path):
    """The arguments for a mixture of two tables, which are the same."""
    shutil.copytree(model, tmp_path / "other")
    return ["--table", f"in={model}", "--table", f"out={tmp_path / 'other'}", "--threads", "1"]


@pytest.fixture
def kept(dragoman, tables, tmp_path):
    mixed = tmp_path / "kept"
    assert dragoman("model", "mix", *tables, "--weights", "0.7,0.3", "--keep-components", "--out", mixed).code == 0
    return mixed


def test_shares_by_perplexity(dragoman, toy, tables, tmp_path):
    toy.write(tmp_path, dev=slice(20))
    texts = ["--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t"]
    result = dragoman("model", "mix", *tables, *texts, "--out", tmp_path / "mixed")
    assert result.code == 0
    assert "cross-entropy" in result.err
    rows = [line.split() for line in result.out.splitlines()]
    assert rows[1] == ["score", "in", "out"]
    assert rows[2] == ["tm.bwd", "0.5000", "0.5000"]
    assert Model.load(tmp_path / "mixed").interpolation_weight_names == []


def test_what_is_kept_is_shown_translated_with_exported_and_sampled(dragoman, kept, tmp_path):
    assert "mix.tm.fwd.in" in dragoman("weights", "show", kept).out
    assert "mixture of in, out" in dragoman("model", "show", kept).out
    assert "2 translations of 'vol'" in dragoman("model", "show", kept, "vol").out
    assert dragoman("translate", "--model", kept, stdin=b"la maison bleue\n").out == "the blue house\n"
    (tmp_path / "text").write_text("la maison bleue\n", encoding="utf-8")
    sampled = dragoman("sample", "--model", kept, "--source", tmp_path / "text", "--samples", "2", "--out", "-")
    assert sampled.code == 0
    assert dragoman("export", "moses", kept, "--out", tmp_path / "moses").code == 0
    assert "mix" not in (tmp_path / "moses" / "moses.ini").read_text(encoding="utf-8")


def test_weights_with_other_shares_and_wrong_ones(dragoman, kept, tmp_path):
    weights = Model.load(kept).weights
    good, bad, strange = (tmp_path / name for name in ("good", "bad", "strange"))
    weights.updated({"mix.tm.fwd.in": 0.1, "mix.tm.fwd.out": 0.9}).write(good)
    weights.updated({"mix.tm.fwd.in": 0.1}).write(bad)
    weights.updated({"mix.tm.fwd.third": 0.1}).write(strange)
    line = b"la maison bleue\n"
    assert dragoman("translate", "--model", kept, "--weights", good, stdin=line).out == "the blue house\n"
    result = dragoman("translate", "--model", kept, "--weights", bad, stdin=line)
    assert (result.code, result.error) == (1, f"{bad}: the shares 0.1, 0.3 of mix.tm.fwd sum to 0.4; expected 1")
    assert "has weights for mix.tm.fwd.third" in dragoman("translate", "--model", kept, "--weights", strange).error


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--weights", "0.7,0.7"], "the shares 0.7, 0.7 of mix.tm.bwd sum to 1.4; expected 1"),
        (["--weights", "uniform", "--table", "in=x"], "--table in is given twice; expected different names"),
        (["--table", "third"], "--table is 'third'; expected NAME=MODEL"),
        ([], "shares by perplexity need a tuning set: a source and a reference"),
        (["--source", "dev.s"], "--source and --reference go together"),
        (["--source", "s", "--reference", "t", "--align-with", "a"], "expected two files, SOURCE,TARGET"),
    ],
)
def test_bad_input(dragoman, tables, tmp_path, arguments, why):
    result = dragoman("model", "mix", *tables, *arguments, "--out", tmp_path / "mixed")
    assert result.code == 2
    assert why in result.error
    assert not (tmp_path / "mixed").exists()


def test_a_table_that_is_given_twice_under_two_names(dragoman, model, tmp_path):
    result = dragoman("model", "mix", "--table", f"a={model}", "--table", f"b={model}", "--out", tmp_path / "m")
    assert (result.code, result.error) == (2, f"--table b is {model}, and so is a; expected different values")


def test_shares_are_normalised_on_request(dragoman, tables, tmp_path):
    mixed = tmp_path / "mixed"
    arguments = ["--weights", "3,1", "--normalise", "--keep-components", "--out", mixed]
    assert dragoman("model", "mix", *tables, *arguments).code == 0
    assert Weights.read(mixed / "weights.txt")["mix.tm.bwd_lex.in"] == 0.75


@pytest.fixture
def tuning(toy, tmp_path):
    toy.write(tmp_path, dev=slice(20))
    texts = ["--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t"]
    return ["tune", *texts, "--method", "pro-mix", "--iterations", "2", "--nbest", "20", "--threads", "1"]


@pytest.mark.parametrize(("method", "gain"), [("pro-mix", 10), ("risk-nbest", 0)])
def test_shares_are_tuned_and_used(dragoman, kept, tuning, tmp_path, method, gain):
    tuning += ["--method", method]
    bad = tmp_path / "bad"
    before = Model.load(kept).weights.updated(dict.fromkeys(Model.load(kept).feature_names, -0.2))
    before.write(bad)
    run = tmp_path / "run"
    result = dragoman(*tuning, "--model", kept, "--start", bad, "--interpolation", 1, "--out", run)
    assert result.code == 0, result.err
    assert "mix.tm.fwd.in" in result.out
    found = Weights.read(run / "weights.txt")
    assert found["mix.tm.fwd.in"] + found["mix.tm.fwd.out"] == pytest.approx(1, abs=1e-9)
    events = [json.loads(line) for line in (run / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert max(event["score"] for event in events) > events[0]["score"] + gain
    assert sum(events[0]["phrases_from"]["tm"].values()) == pytest.approx(1, abs=1e-3)
    assert dragoman("translate", "--model", kept, "--weights", run, tmp_path / "dev.s").code == 0
    # The same command finds all done, from what is in the folder.
    assert dragoman(*tuning, "--model", kept, "--start", bad, "--interpolation", 1, "--out", run).code == 0
    assert dict(Weights.read(run / "weights.txt")) == dict(found)


def test_fixed_shares_stay(dragoman, kept, tuning, tmp_path):
    run = tmp_path / "run"
    assert dragoman(*tuning, "--model", kept, "--fix", "mix.*", "--out", run).code == 0
    last = Weights.read(sorted((run / "weights").iterdir())[-1])
    assert {last[f"mix.tm.{score}.in"] for score in ("bwd", "bwd_lex", "fwd", "fwd_lex")} == {0.7}


def test_shares_cannot_be_fixed_by_halves_nor_tuned_where_there_are_none(dragoman, kept, model, tuning, tmp_path):
    result = dragoman(*tuning, "--model", kept, "--fix", "mix.tm.fwd.in", "--out", tmp_path / "run")
    why = "mix.tm.fwd.in is fixed, and others of mix.tm.fwd are not; expected all of them or none"
    assert (result.code, result.error) == (2, why)
    result = dragoman(*tuning, "--model", model, "--out", tmp_path / "run")
    assert result.code == 2
    assert result.error.startswith("the model has no mixed tables, whose interpolation weights pro-mix tunes; expected")
    assert not (tmp_path / "run").exists()


def test_other_methods_leave_shares_alone(dragoman, kept, tuning, tmp_path):
    run = tmp_path / "run"
    assert dragoman(*tuning, "--method", "mert", "--model", kept, "--out", run).code == 0
    found = Weights.read(sorted((run / "weights").iterdir())[-1])
    assert found["mix.tm.fwd.in"] == 0.7


PLAN = """
source = "dev.s"
reference = "dev.t"
prepared = true
runs = 1
curves = false
loop = {{ iterations = 2 }}
decoding = {{ nbest = 20 }}
corpus = [{{ name = "in", source = "a.s", target = "a.t" }}, {{ name = "web", source = "b.s", target = "b.t" }}]
adapt = {{ systems = ["log-linear", "pro-mix"], tokenised = true, lm = {{ order = 2 }} }}
method = [{{ name = "pro-mix", system = "pro-mix" }}, {{ name = "plain", use = "pro", model = "{plain}" }}]
test = [{{ name = "test", source = "dev.s", reference = ["dev.t"] }}]
"""


def test_an_experiment_trains_systems_compares_models_and_reports_shares(dragoman, toy, model, tmp_path, csv_rows):
    toy.write(tmp_path, a=slice(60), b=slice(60, 180), dev=slice(180, 190))
    (tmp_path / "plan.toml").write_text(PLAN.format(plain=model), encoding="utf-8")
    out = tmp_path / "out"
    result = dragoman("experiment", tmp_path / "plan.toml", "--out", out, "--threads", 1)
    assert result.code == 0, result.err
    assert sorted(path.name for path in (out / "models").iterdir()) == ["files.json", "log-linear", "pro-mix"]
    page = (out / "report.html").read_text(encoding="utf-8")
    for part in ("pro-mix: interpolation weights", "mix.tm.fwd.web", "phrases.tm.web", "corpus web"):
        assert part in page
    first = csv_rows(out / "mixtures.csv")[0]
    assert (first["method"], first["seed"], first["iteration"], first["name"]) == ("pro-mix", "1", "1", "mix.tm.bwd.in")
    assert float(first["share"]) == Model.load(out / "models" / "pro-mix").weights["mix.tm.bwd.in"]
    assert {row["method"] for row in csv_rows(out / "runs.csv")} == {"untuned", "pro-mix", "plain"}
    plain = Weights.read(out / "runs" / "plain" / "1" / "weights.txt")
    assert not any(name.startswith("mix.") for name in plain)
    file = out / "models" / "pro-mix" / "weights.txt"
    file.write_text(file.read_text().replace("lm 0.5", "lm 0.6"))
    refused = dragoman("experiment", tmp_path / "plan.toml", "--out", out, "--threads", 1)
    assert refused.code == 1
    assert refused.error.startswith(f"{file}: is damaged (models); expected checksum ")
