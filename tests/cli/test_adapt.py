"""`dragoman adapt`: corpora in, systems out."""

import json

import pytest

from dragoman.model.bundle import Model


@pytest.fixture
def arguments(toy, tmp_path):
    toy.write(tmp_path, a=slice(100), b=slice(100, 220), dev=slice(220, 250))
    text = [f"{name}={tmp_path / name}.s,{tmp_path / name}.t" for name in ("a", "b")]
    dev = ["--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t"]
    return ["adapt", "--corpus", text[0], "--corpus", text[1], *dev, "--tokenised", "--threads", "1", "--lm-order", "2"]


def test_one_mixture_is_a_model(dragoman, arguments, tmp_path):
    result = dragoman(*arguments, "--mixture", "perp", "--out", tmp_path / "model")
    assert result.code == 0
    assert "shares of the corpora" in result.out
    assert Model.load(tmp_path / "model").history["system"] == "perp"
    assert dragoman("translate", "--model", tmp_path / "model", stdin=b"une ville\n").out == "a town\n"


def test_several_mixtures_are_a_folder_of_models(dragoman, arguments, tmp_path):
    wanted = ["--mixture", "joint", "--mixture", "pro-mix", "--domain", "b"]
    assert dragoman(*arguments, *wanted, "--out", tmp_path / "models").code == 0
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["joint", "pro-mix"]
    again = dragoman(*arguments, *wanted, "--out", tmp_path / "models")
    assert (again.code, again.error) == (2, f"{tmp_path / 'models' / 'joint'} exists; use --force to replace it")
    model = Model.load(tmp_path / "models" / "pro-mix")
    assert model.tables["tm"].components.names == ("b", "a")
    assert model.weights["mix.tm.fwd.a"] + model.weights["mix.tm.fwd.b"] == pytest.approx(1)


@pytest.mark.slow
def test_orientations_are_mixed_and_tuned(dragoman, arguments, tmp_path):
    made = dragoman(*arguments, "--mix-reordering", "--mixture", "pro-mix", "--out", tmp_path / "m")
    assert made.code == 0
    assert "lr.bwd" in made.out
    dev = ["--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t"]
    run = ["tune", "--model", tmp_path / "m", *dev, "--method", "pro-mix", "--iterations", "2", "--threads", "1"]
    assert dragoman(*run, "--out", tmp_path / "run").code == 0
    first, last = (
        Model.load(tmp_path / "m").read_weights(tmp_path / "run" / "weights" / f"{i:03}.txt") for i in (0, 1)
    )
    assert first["mix.lr.fwd.a"] != last["mix.lr.fwd.a"]
    assert last["mix.lr.fwd.a"] + last["mix.lr.fwd.b"] == pytest.approx(1)
    again = dragoman(*run, "--out", tmp_path / "run")  # it reads the evidence of the run that has ended
    assert again.code == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [[], ["--hierarchical", "--rule-max-span", "6"]], ids=["phrases", "rules"])
def test_language_models_are_mixed_and_tuned(dragoman, arguments, tmp_path, kind):
    made = dragoman(*arguments, *kind, "--mix-lm", "--mixture", "pro-mix", "--mixture", "perp", "--out", tmp_path / "m")
    assert made.code == 0
    assert Model.load(tmp_path / "m" / "perp").language_models["lm"].components == {}
    model = tmp_path / "m" / "pro-mix"
    assert "mixture of a, b" in dragoman("model", "show", model).out
    dev = ["--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t"]
    run = ["tune", "--model", model, *dev, "--method", "pro-mix", "--iterations", "2", "--threads", "1"]
    assert dragoman(*run, "--out", tmp_path / "run").code == 0
    first, last = (Model.load(model).read_weights(tmp_path / "run" / "weights" / f"{i:03}.txt") for i in (0, 1))
    assert first["mix.lm.a"] != last["mix.lm.a"]
    assert last["mix.lm.a"] + last["mix.lm.b"] == pytest.approx(1)
    mixed = ["translate", "--model", model, "--weights", tmp_path / "run"]
    text = (tmp_path / "dev.s").read_bytes()
    assert dragoman("model", "collapse", model, "--weights", tmp_path / "run", "--out", tmp_path / "plain").code == 0
    assert dragoman("translate", "--model", tmp_path / "plain", stdin=text).out == dragoman(*mixed, stdin=text).out
    assert Model.load(tmp_path / "plain").interpolation_weight_names == []
    again = dragoman("model", "collapse", tmp_path / "plain", "--out", tmp_path / "other")
    assert (again.code, "has no mixture; expected" in again.error) == (2, True)


@pytest.mark.slow
def test_grammars_are_mixed_tuned_and_baked(dragoman, arguments, tmp_path):
    made = dragoman(
        *arguments, "--hierarchical", "--rule-max-span", "6", "--mixture", "pro-mix", "--out", tmp_path / "m"
    )
    assert made.code == 0
    assert "mixture of a, b" in dragoman("model", "show", tmp_path / "m").out
    dev = ["--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t"]
    run = ["tune", "--model", tmp_path / "m", *dev, "--method", "pro-mix", "--iterations", "2", "--threads", "1"]
    tuned = dragoman(*run, "--out", tmp_path / "run")
    assert tuned.code == 0
    events = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").read_text().splitlines()]
    assert sum(events[-1]["phrases_from"]["tm"].values()) == pytest.approx(1, abs=1e-3)
    first, last = (
        Model.load(tmp_path / "m").read_weights(tmp_path / "run" / "weights" / f"{i:03}.txt") for i in (0, 1)
    )
    assert first["mix.tm.fwd.a"] != last["mix.tm.fwd.a"]
    mixed = ["translate", "--model", tmp_path / "m", "--weights", tmp_path / "run"]
    assert dragoman(*mixed, stdin=b"une ville\n").out == "a town\n"
    assert dragoman("export", "moses", tmp_path / "m", "--out", tmp_path / "moses").code == 0


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--mixture", "best"], "no mixture is called 'best'; there are in, joint, perp"),
        (["--mixture", "in", "--mixture", "in"], "--mixture in is given twice; expected each once"),
        (["--mixture", "in", "--corpus", "a=x,y"], "--corpus a is given twice; expected different names"),
        (["--mixture", "in", "--corpus", "c=x"], "--corpus is 'x'; expected two files, SOURCE,TARGET"),
        (["--mixture", "in", "--domain", "c"], "no corpus is called 'c'; there are a, b"),
    ],
)
def test_bad_input(dragoman, arguments, tmp_path, more, why):
    result = dragoman(*arguments, *more, "--out", tmp_path / "model")
    assert result.code == 2
    assert why in result.error
    assert not (tmp_path / "model").exists()


def test_a_corpus_that_is_given_twice_under_two_names(dragoman, arguments, tmp_path):
    again = arguments[2].replace("a=", "c=", 1)
    result = dragoman(*arguments, "--corpus", again, "--mixture", "in", "--out", tmp_path / "model")
    assert result.code == 2
    assert result.error.startswith("--corpus c is ")
    assert result.error.endswith("and so is a; expected different values")
