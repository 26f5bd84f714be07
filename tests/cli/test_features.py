"""Sparse features from the command line: tag, add them to a model, tune, translate, look at weights."""

import json
import math

import pytest

from dragoman.core.feature_rows import Weights
from dragoman.model.bundle import Model
from oracles.toy_language import ADJECTIVES, DETERMINERS, NOUNS, VERBS

pytestmark = pytest.mark.slow

TAGS = {
    **dict.fromkeys(DETERMINERS.values(), "DT"),
    **dict.fromkeys([*NOUNS.values(), "flight", "theft"], "NN"),
    **dict.fromkeys(ADJECTIVES.values(), "JJ"),
    **dict.fromkeys(VERBS.values(), "VB"),
}


@pytest.fixture(scope="module")
def tagged(toy, tmp_path_factory):
    file = tmp_path_factory.mktemp("tagged") / "t.tagged"
    lines = [" ".join(f"{word}|{TAGS[word]}" for word in pair.target) for pair in toy.pairs]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


@pytest.fixture
def richer(dragoman, model, tagged, tmp_path):
    features = ["phrase-length", "word-pair:source-words=3,target-words=0", "word-insertion", "boundary-tags"]
    flags = [argument for feature in features for argument in ("--feature", feature)]
    result = dragoman("model", "add-features", model, *flags, "--tagged", tagged, "--out", tmp_path / "richer")
    assert result.code == 0, result.err
    assert "wp.*; source-words=3, target-words=0" in result.out
    return tmp_path / "richer"


@pytest.fixture
def dev(toy, tmp_path):
    for name, side in (("dev.s", "source"), ("dev.t", "target")):
        lines = [" ".join(getattr(pair, side)) for pair in toy.pairs[:30]]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ["--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t", "--threads", 1]


def test_from_tags_to_tuned_weights(dragoman, richer, dev, tmp_path):
    start = tmp_path / "start"
    Weights(dict.fromkeys(Model.load(richer).feature_names, -0.2)).write(start)
    run = tmp_path / "run"
    flags = ["--start", start, "--iterations", 3, "--method", "mira", "--fix", "pl.*", "--fix", "lr.*", "--out", run]
    result = dragoman("tune", "--model", richer, *dev, *flags)
    assert result.code == 0, result.err
    found = Weights.read(run / "weights.txt")
    assert f"sparse weights: see dragoman weights top {run}" in result.out
    prefixes = {name.split(".")[0] for name in found} - {
        name.split(".")[0] for name in Model.load(richer).feature_names
    }
    assert prefixes == {"pb", "wp"}  # all words have links, and lengths are fixed
    assert found["lr.fwd.mono"] == -0.2
    details = tmp_path / "details"
    result = dragoman("translate", "--model", richer, "--weights", run, "--details", details, dev[1])
    assert result.code == 0, result.err
    for line in details.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        total = sum(found.get(name, 0.0) * value for name, value in row["features"].items())
        assert row["score"] == pytest.approx(total, abs=1e-6)
        assert row["features"]["pb.<s>:DT"] == 1
        assert sum(value for name, value in row["features"].items() if name.startswith("pl.")) == len(row["phrases"])
        assert sum(v for n, v in row["features"].items() if n.startswith("pb.")) == len(row["phrases"]) + 1
    assert dragoman("weights", "top", run, "--prefix", "pb.", "-n", 3).code == 0


def test_hypergraphs_bring_their_names_along(dragoman, model, dev, tmp_path):
    richer = tmp_path / "richer"
    assert dragoman("model", "add-features", model, "--feature", "phrase-length", "--out", richer).code == 0
    start = tmp_path / "start"
    Weights(dict.fromkeys(Model.load(richer).feature_names, -0.2)).write(start)
    flags = ["--start", start, "--method", "mert", "--evidence", "hypergraph", "--iterations", 1, "--range", "pl.*=0,1"]
    result = dragoman("tune", "--model", richer, *dev, *flags, "--out", tmp_path / "run")
    assert result.code == 0, result.err
    assert any(name.startswith("pl.") for name in Weights.read(tmp_path / "run" / "weights" / "001.txt"))


def test_weights_for_a_model_without_the_features(dragoman, model, tmp_path):
    weights = Model.load(model).weights
    weights.updated({"pb.NN:VB": 1.0, "twi.the": 2.0}).write(tmp_path / "w")
    result = dragoman("translate", "--model", model, "--weights", tmp_path / "w", stdin=b"la maison\n")
    assert (result.code, result.out) == (0, "the house\n")
    assert result.warnings == [f"{tmp_path}/w: the model has no features for 2 of the weights: pb.NN:VB, twi.the"]


def test_words_and_tags_in_two_files_do_the_same(dragoman, model, tagged, toy, tmp_path):
    tags = tmp_path / "tags"
    lines = tagged.read_text(encoding="utf-8").splitlines()
    tags.write_text("".join(" ".join(t.split("|")[1] for t in line.split()) + "\n" for line in lines), encoding="utf-8")
    for name, flags in (("one", ["--tagged", tagged]), ("two", ["--text", toy.target, "--tags", tags])):
        out = tmp_path / name
        result = dragoman("model", "add-features", model, "--feature", "boundary-tags", *flags, "--out", out)
        assert result.code == 0, result.err
    for file in (tmp_path / "one").rglob("*.*"):
        assert file.read_bytes() == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()
    assert dragoman("model", "check", tmp_path / "one").code == 0
    moses = dragoman("export", "moses", tmp_path / "one", "--out", tmp_path / "moses")
    assert moses.warnings == ["sparse features cannot be written and are left out: boundary-tags"]


def test_bad_input_to_add_features(dragoman, model, tagged, toy, tmp_path, unchanged):
    short, untagged, text = tmp_path / "short", tmp_path / "untagged", tmp_path / "text"
    text.write_text("the blue house\n", encoding="utf-8")
    short.write_text("DT NN\n", encoding="utf-8")
    untagged.write_text("the|DT house\n", encoding="utf-8")
    unchanged()
    for flags, code, found in [
        (["--feature", "magic"], 2, "no feature is called 'magic'"),
        (["--feature", "word-pair:magic=1"], 2, "found 'magic=1'; expected NAME=VALUE with a NAME of source_words"),
        (["--feature", "word-pair:source-words=-1"], 2, "source_words is -1; expected at least 0"),
        (["--feature", "boundary-tags"], 2, "boundary-tags needs a tagged text"),
        (["--feature", "boundary-tags", "--tags", short], 2, "--text and --tags go together"),
        (["--feature", "boundary-tags", "--tagged", untagged], 1, f"{untagged}:1: found 'house'; expected a word"),
        (["--feature", "boundary-tags", "--text", toy.target, "--tags", short], 1, "has 1 lines; expected 250"),
        (["--feature", "boundary-tags", "--text", text, "--tags", short], 1, f"{short}:1: has 2 tags; expected 3"),
        (
            ["--feature", "boundary-tags", "--tagged", tagged, "--text", toy.target, "--tags", short],
            2,
            "--text and --tags are not needed",
        ),
    ]:
        result = dragoman("model", "add-features", model, *flags, "--out", tmp_path / "out")
        assert (result.code, found in result.error) == (code, True), result.err


def test_tagging(dragoman, tagged, tmp_path):
    text = tmp_path / "text"
    text.write_text("the house sees\n\n a  zebra \n", encoding="utf-8")
    model = ["--tagger", "most-frequent", "--tagger-option", f"model={tagged}"]
    result = dragoman("tag", "--text", text, *model)
    assert result.out.startswith("the|DT house|NN sees|VB\n\na|DT zebra|")
    assert dragoman("tag", "--text", text, *model, "--tags-only", "--out", tmp_path / "tags").code == 0
    assert (tmp_path / "tags").read_text(encoding="utf-8").startswith("DT NN VB\n\nDT ")


def test_raw_text_is_tokenised_as_a_model_wants_it(dragoman, tagged, toy, tmp_path):
    model, raw = tmp_path / "model", tmp_path / "raw.en"
    flags = ["--source", toy.source, "--target", toy.target, "--target-language", "en", "--alignment", toy.links]
    assert dragoman("train", *flags, "--threads", 1, "--out", model).code == 0
    raw.write_text("The house, a house.\n", encoding="utf-8")
    chosen = ["--tagger", "most-frequent", "--tagger-option", f"model={tagged}", "--out", tmp_path / "out"]
    result = dragoman("tag", "--text", raw, "--for-model", model, *chosen)
    assert result.code == 0, result.err
    words = [token.split("|")[0] for token in (tmp_path / "out").read_text(encoding="utf-8").split()]
    assert words == ["The", "house", ",", "a", "house", "."]
    result = dragoman(
        "model",
        "add-features",
        model,
        "--feature",
        "boundary-tags",
        "--tagged",
        tmp_path / "out",
        "--out",
        model,
        "--force",
    )
    assert result.code == 0, result.err
    richer = Model.load(model)
    assert (
        richer.boundary_feature.tags.of_word[richer.target_vocab.id("the")] != 1
    )  # `The` was lower-cased like the model


def test_a_tagger_that_fails_names_the_line_and_leaves_nothing(dragoman, tagged, tmp_path, monkeypatch):
    from dragoman.training.tag.most_frequent import MostFrequent

    text = tmp_path / "text"
    text.write_text("the\n\nhouse house\n", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(MostFrequent, "tags", lambda self, sentences: (["NN"] for _ in sentences))
    result = dragoman("tag", "--text", text, "--tagger", "most-frequent", "--out", tmp_path / "out")
    assert result.code == 1
    assert result.error.startswith(f"{text}:3: most-frequent gave 1 tags for 2 words; expected one for each")
    assert dragoman("tag", "--text", text, "--tagger", "magic").code == 2
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture
def weights(tmp_path):
    (tmp_path / "run").mkdir()
    Weights({"lm": 0.5, "tm.fwd": 0.25, "pb.NN:VB": -0.125, "pb.[b]:x": 2.0}).write(tmp_path / "run" / "weights.txt")
    Weights({"lm": 0.5, "tm.fwd": 0.5, "pb.VB:NN": 1.0, "pb.[b]:x": 2.0}).write(tmp_path / "file")
    return tmp_path / "run", tmp_path / "file"


def test_weights_are_shown_in_groups(dragoman, weights, model):
    out = dragoman("weights", "show", weights[0]).out
    assert [line.split() for line in out.splitlines()] == [
        [f"{weights[0]}:", "1", "weight"],
        ["weight", "value"],
        ["lm", "0.5"],
        ["pb:", "2", "weights"],
        ["weight", "value"],
        ["pb.NN:VB", "-0.125"],
        ["pb.[b]:x", "2"],
        ["tm:", "1", "weight"],
        ["weight", "value"],
        ["tm.fwd", "0.25"],
    ]
    assert "tm.fwd_lex" in dragoman("weights", "show", model, "--prefix", "tm.").out


def test_the_largest_weights(dragoman, weights):
    lines = dragoman("weights", "top", weights[0], "-n", 2, "--prefix", "pb").out.splitlines()
    assert [line.split() for line in lines[2:]] == [["pb.[b]:x", "2"], ["pb.NN:VB", "-0.125"]]


def test_differences(dragoman, weights):
    lines = dragoman("weights", "diff", *weights).out.splitlines()
    assert [line.split() for line in lines[2:5]] == [
        ["pb.VB:NN", "missing", "1", "+1", "100.0%"],
        ["tm.fwd", "0.25", "0.5", "+0.25", "50.0%"],
        ["pb.NN:VB", "-0.125", "missing", "+0.125", "100.0%"],
    ]
    cosine = (0.25 + 0.125 + 4) / math.sqrt((0.25 + 0.0625 + 0.125**2 + 4) * (0.25 + 0.25 + 1 + 4))
    assert lines[5] == f"cosine {cosine:.6f}; 2 the same; 1 only in {weights[0]}; 1 only in {weights[1]}"
    by_share = dragoman("weights", "diff", *weights, "--by", "relative", "-n", 2).out.splitlines()
    assert [line.split()[0] for line in by_share[2:4]] == ["pb.VB:NN", "pb.NN:VB"]
    assert "cosine 1.000000; 4 the same" in dragoman("weights", "diff", weights[0], weights[0], "--scaled").out


def test_no_weights_to_look_at(dragoman, weights, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, flags, found in [
        (tmp_path / "empty", [], "has no weights.txt; expected the folder of a run or a model"),
        (tmp_path / "nowhere", [], "cannot be read"),
        (weights[0], ["--prefix", "zz"], "has no weight with the prefix 'zz'"),
    ]:
        for name in ("show", "top"):
            result = dragoman("weights", name, path, *flags)
            assert result.code == 1
            assert found in result.error
