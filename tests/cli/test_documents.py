"""Models with global features from the command line: they sample, anneal and decide, and searches refuse them."""

import json

import pytest

from dragoman.core.feature_rows import Weights
from dragoman.model.bundle import Model
from oracles.lexical_consistency import lexical_consistency

pytestmark = pytest.mark.slow


@pytest.fixture
def richer(dragoman, model, tmp_path):
    """A model with both kinds of global features, without weights so far."""
    flags = ["--global", "length_ratio", "--global", "lexical_consistency:min-length=3"]
    result = dragoman("model", "add-features", model, *flags, "--out", tmp_path / "richer")
    assert result.code == 0, result.err
    assert "global feature lexical_consistency" in result.out
    assert "min-length=3" in result.out
    return tmp_path / "richer"


@pytest.fixture
def weighted(richer, tmp_path):
    """Weights that give the features a say."""
    weights = {"length_ratio": 1.0, "lexical_consistency": 20.0}
    Model.load(richer).weights.updated(weights).write(tmp_path / "weights")
    return ["--model", richer, "--weights", tmp_path / "weights", "--threads", 1]


@pytest.fixture
def text(tmp_path):
    lines = ["la maison bleue", "une vol petite", "la vol", "", "la voiture voit la vol vieille", "la maison"]
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "labels").write_text("one\none\ntwo\ntwo\ntwo\ntwo\n", encoding="utf-8")
    return tmp_path / "text"


def consistency(text, translations):
    rows = [[w for w in line.split() if len(w) > 2] for line in text.read_text(encoding="utf-8").splitlines()]
    return lexical_consistency(rows, [[w for w in line.split() if len(w) > 2] for line in translations])


def test_a_model_keeps_its_global_features(dragoman, model, richer, tmp_path):
    loaded = Model.load(richer)
    options = {name: feature.to_dict() for name, feature in loaded.global_features.items()}
    assert options == {"length_ratio": {}, "lexical_consistency": {"min_length": 3}}
    assert loaded.weights["lexical_consistency"] == 0
    shown = dragoman("weights", "show", richer).out
    assert "lexical_consistency" in shown
    assert dragoman("model", "check", richer).code == 0
    # Weights that know nothing of them are not for this model, nor the other way round.
    result = dragoman("translate", "--model", richer, "--weights", model, stdin=b"la\n")
    assert "has no weight for length_ratio, lexical_consistency" in result.error
    result = dragoman("translate", "--model", model, "--weights", richer, stdin=b"la\n")
    assert "has weights for length_ratio, lexical_consistency" in result.error
    # As long as they weigh nothing, everything works as it did.
    result = dragoman("translate", "--model", richer, stdin=b"la maison\n")
    assert (result.code, result.out) == (0, "the house\n")
    moses = dragoman("export", "moses", richer, "--out", tmp_path / "moses")
    assert moses.warnings == [
        "global features cannot be written and are left out: length_ratio, lexical_consistency",
    ]


def test_sampling_finds_what_searches_refuse(dragoman, weighted, text, tmp_path):
    labels = ["--documents", tmp_path / "labels"]
    scans = ["--annealing-option", "scans=60"]
    annealed = dragoman("translate", *weighted, "--anneal", *scans, "--details", tmp_path / "details", text)
    assert annealed.code == 0, annealed.err
    assert consistency(text, annealed.out.splitlines()) > -0.3
    weights = Weights.read(tmp_path / "weights")
    for line in (tmp_path / "details").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        expected = sum(weights.get(name, 0.0) * value for name, value in row["features"].items())
        assert row["score"] == pytest.approx(expected, abs=1e-6)
    samples = ["--evidence", "samples", "--sampling-option", "samples=100", "--sampling-option", "temperature=0.3"]
    for rule in ("mbr", "max-translation", "max-derivation", "consensus"):
        result = dragoman("translate", *weighted, "--decision", rule, *samples, *labels, text)
        assert (result.code, len(result.out.splitlines())) == (0, 6), result.err
    again = dragoman("translate", *weighted, "--anneal", *scans, *labels, text)
    assert (again.code, len(again.out.splitlines())) == (0, 6), again.err
    drawn = ["--samples", 30, "--burn-in", 3, "--out", tmp_path / "samples"]
    assert dragoman("sample", *weighted, "--source", text, *labels, *drawn).code == 0
    first = json.loads((tmp_path / "samples").read_text(encoding="utf-8").splitlines()[0])["derivations"][0]
    assert "length_ratio" in first["features"] or len(first["text"].split()) == 3
    assert "lexical_consistency" not in first["features"]


def test_every_search_refuses_with_one_sentence(dragoman, weighted, text, toy, tmp_path, unchanged):
    unchanged()
    sentence = (
        "the global feature length_ratio has the weight 1, and only sampling can score it: translate by annealing, "
        "or by --decision mbr with --evidence samples, or set the weight to 0"
    )
    for flags in (
        [],
        ["--exhaustive"],
        ["--climb", "gloss"],
        ["--climb", "beam"],
        ["--force", text],
        ["--nbest", 5, "--nbest-out", tmp_path / "nbest"],
        ["--hypergraphs", tmp_path / "graphs"],
        ["--decision", "mbr"],
        ["--decision", "lattice-mbr"],
        ["--decision", "max-translation", "--evidence", "nbest"],
    ):
        result = dragoman("translate", *weighted, *flags, text)
        assert (result.code, result.error) == (2, sentence), flags
    start = ["--start", weighted[3], "--source", text, "--reference", text, "--method", "mert"]
    result = dragoman("tune", "--model", weighted[1], *start, "--out", tmp_path.parent / f"{tmp_path.name}-run")
    assert (result.code, result.error) == (2, sentence)
    result = dragoman("diagnose", *weighted, "--source", text, "--out", tmp_path / "diagnosis")
    assert (result.code, result.error) == (2, sentence)


def test_a_search_leaves_global_weights_alone(dragoman, richer, toy, tmp_path):
    for name, side in (("dev.s", "source"), ("dev.t", "target")):
        lines = [" ".join(getattr(pair, side)) for pair in toy.pairs[:20]]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = ["--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t", "--threads", 1]
    flags = ["--method", "mert", "--iterations", 2, "--out", tmp_path / "run"]
    result = dragoman("tune", "--model", richer, *files, *flags)
    assert result.code == 0, result.err
    found = Weights.read(tmp_path / "run" / "weights.txt")
    assert found["length_ratio"] == found["lexical_consistency"] == 0
    fixed = [a for name in Model.load(richer).dense_features for a in ("--fix", name)]
    result = dragoman("tune", "--model", richer, *files, *fixed, "--method", "mert", "--out", tmp_path / "other")
    assert result.error == "all weights are fixed but those of global features, which no search can tune"


def test_a_feature_to_try(dragoman, weighted, model, text, tmp_path):
    flags = ["--source", text, "--samples", 30, "--burn-in", 3, "--no-features", "--threads", 1]
    # Jumps adapt to a lattice that knows no global features, so that weighted ones switch that off.
    flags.append("--no-adaptive-jumps")
    written = []
    longer = ["--model", model, "--global-feature", "lexical_consistency=30"]  # than some words that the model's counts
    to_try = ["--model", weighted[1], "--global-feature", "lexical_consistency=30"]
    for extra in (
        ["--model", model],
        ["--model", weighted[1]],  # no weight, no difference
        longer,
        to_try,
        [*to_try, "--documents", tmp_path / "labels"],
    ):
        assert dragoman("sample", *flags, *extra, "--out", tmp_path / "out").code == 0
        written.append((tmp_path / "out").read_bytes())
    assert written[0] == written[1] == written[2]
    assert len(set(written)) == 3


@pytest.mark.parametrize(
    ("flags", "code", "sentence"),
    [
        (
            ["--documents", "short", "--anneal"],
            1,
            "short: has 2 labels of documents; expected 6, one for each sentence",
        ),
        (["--documents", "labels"], 2, "--documents goes with --anneal, or with --decision and --evidence samples"),
        (["--documents", "labels", "--decision", "mbr"], 2, "--documents goes with --anneal, or with --decision"),
        (["--documents", "missing", "--anneal"], 1, "missing: "),
    ],
)
def test_bad_documents(dragoman, weighted, text, tmp_path, monkeypatch, flags, code, sentence):
    (tmp_path / "short").write_text("one\ntwo\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = dragoman("translate", *weighted, *flags, text)
    assert result.code == code
    assert result.error.startswith(sentence)


def test_bad_documents_of_samples(dragoman, model, text, tmp_path, unchanged):
    (tmp_path / "short").write_text("one\n", encoding="utf-8")
    unchanged()
    flags = ["--source", text, "--documents", tmp_path / "short", "--out", tmp_path / "out"]
    result = dragoman("sample", "--model", model, *flags)
    assert (result.code, result.out) == (1, "")
    assert result.error == f"{tmp_path}/short: has 1 labels of documents; expected 6, one for each sentence"


def test_bad_input_to_add_features(dragoman, model, richer, tmp_path, unchanged):
    unchanged()
    for source, flags, found in [
        (model, [], "no feature is given; expected --feature or --global"),
        (model, ["--global", "magic"], "no global_feature is called 'magic'; there are bracket_balance, length_ratio"),
        (model, ["--global", "lexical_consistency:min-length=0"], "min_length is 0; expected at least 1"),
        (model, ["--global", "length_ratio:size=1"], "found 'size=1'; expected none: it has no options"),
        (model, ["--global", "length_ratio"] * 2, "the model has the feature length_ratio already"),
        (richer, ["--global", "length_ratio"], "the model has the feature length_ratio already"),
    ]:
        result = dragoman("model", "add-features", source, *flags, "--out", tmp_path / "out")
        assert (result.code, found in result.error) == (2, True), result.err
