"""`dragoman rerank`: anybody's lists, tuned on and chosen from, and written back as they were."""

import gzip
import json

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.feature_rows import Weights
from dragoman.core.progress import DragomanWarning

REFERENCES = ["the house is blue", "a dog barks", "we see the sea"]
WRONG = ["the house was green", "a cat sleeps", "they hear a song"]


def moses_lines():
    """Two hypotheses a sentence; the lists' own order is wrong, and feature `good` knows better."""
    lines = []
    for i, (right, wrong) in enumerate(zip(REFERENCES, WRONG, strict=True)):
        lines.append(f"{i} ||| {wrong}  ||| bad= {3 + i} good= 0 ||| {3 + i}\n")
        lines.append(f"{i} ||| {right}  ||| bad= {i} good= 1 ||| {i}\n")
    return "".join(lines)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in REFERENCES), encoding="utf-8")
    with gzip.open(tmp_path / "list.gz", "wt", encoding="utf-8") as stream:
        stream.write(moses_lines())
    return tmp_path


@pytest.mark.parametrize("method", ["mert", "mira", "pro", "simplex", "svm-rank"])
def test_tuned_weights_find_the_references(dragoman, files, method):
    weights = files / "weights"
    arguments = ["--candidates", files / "list.gz", "--reference", files / "ref", "--out", weights, "--method", method]
    result = dragoman("rerank", "tune", *arguments)
    assert result.code == 0, result.err
    table = {line.split()[0]: float(line.split()[1]) for line in result.out.splitlines()[2:6]}
    assert result.out.splitlines()[6].startswith("bleu|nrefs:1|")
    assert table["tuned"] == table["oracle"] == pytest.approx(100)
    assert table["first"] == table["worst"] < 50
    result = dragoman("rerank", "apply", "--candidates", files / "list.gz", "--weights", weights)
    assert result.out.split("\n")[:-1] == REFERENCES


def test_lists_come_back_in_their_format_sorted_anew(dragoman, files):
    (files / "weights").write_text("good 2\n", encoding="utf-8")
    out = files / "sorted.gz"
    arguments = ["--candidates", files / "list.gz", "--weights", files / "weights", "--out", out]
    assert dragoman("rerank", "apply", *arguments).code == 0
    with gzip.open(out, "rt", encoding="utf-8") as stream:
        lines = stream.read().splitlines()
    assert lines[0] == "0 ||| the house is blue  ||| bad= 0 good= 1 ||| 2"
    assert lines[1] == "0 ||| the house was green  ||| bad= 3 good= 0 ||| 0"
    assert len(lines) == 6


def test_features_from_files_and_neural_lists(dragoman, files):
    rows = [
        {"id": i, "hyps": [{"text": wrong, "logprob": -1.0}, {"text": right, "logprob": -2.0}]}
        for i, (right, wrong) in enumerate(zip(REFERENCES, WRONG, strict=True))
    ]
    (files / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (files / "quality").write_text("0.1\n0.9\n" * 3, encoding="utf-8")
    lists = ["--candidates", files / "list.jsonl", "--feature", f"quality={files / 'quality'}"]
    result = dragoman("rerank", "tune", *lists, "--reference", files / "ref", "--out", files / "weights")
    assert result.code == 0, result.err
    assert {*Weights.read(files / "weights")} == {"logprob", "quality"}
    assert dragoman("rerank", "apply", *lists, "--weights", files / "weights").out.split("\n")[0] == REFERENCES[0]


def test_bad_input_is_one_sentence(dragoman, files):
    tune = ["rerank", "tune", "--out", files / "weights", "--reference", files / "ref"]
    lists = ["--candidates", files / "list.gz"]
    (files / "few").write_text("1\n2\n", encoding="utf-8")
    (files / "words").write_text("one\n" * 6, encoding="utf-8")
    (files / "short").write_text("the house\n", encoding="utf-8")
    for arguments, found in [
        ([*lists, "--feature", f"x={files / 'few'}"], "'x' has 2 numbers"),
        ([*lists, "--feature", f"x={files / 'words'}"], "found 'one'"),
        ([*lists, "--feature", f"good={files / 'few'}"], "a feature 'good' already"),
        ([*lists, "--format", "travatar"], "looks like"),
        (["--candidates", files / "missing"], "cannot be read"),
    ]:
        result = dragoman(*tune, *arguments)
        assert result.code == 1
        assert found in result.error
        assert not (files / "weights").exists()
    (files / "weights").write_text("nonsense 1\n", encoding="utf-8")
    result = dragoman("rerank", "apply", *lists, "--weights", files / "weights")
    assert result.code == 1
    assert "nonsense" in result.error


def test_odd_lists_are_refused_or_said(dragoman, files):
    """What people's lists are like: each gives one sentence, or a warning with numbers and a result."""
    text, path = moses_lines(), files / "odd"
    lines = text.splitlines(keepends=True)
    without_one = "".join(line for line in lines if not line.startswith("1"))
    tune = ["rerank", "tune", "--candidates", path, "--out", files / "weights", "--reference"]
    for odd, reference, found in [
        (without_one, "ref", "1 of 3 sentences have no hypotheses"),
        (text + lines[0], "ref", "odd:7: the id 0 comes again"),
        (text + "7 ||| x ||| bad= 1 good= 1 ||| 1\n", "ref", "odd:7: found the id 7"),
        (text.replace("good= 1", "good= nan", 1), "ref", "odd:2: found 'nan'"),
        (text.replace("good= 1", "good= -inf", 1), "ref", "odd:2: found '-inf'"),
        (text, "short", "expected 1 sentences"),
        ("", "ref", "odd: "),
    ]:
        path.write_text(odd, encoding="utf-8")
        (files / "short").write_text("one line\n", encoding="utf-8")
        result = dragoman(*tune, files / reference)
        assert result.code == 1, odd
        assert found in result.error
        assert not (files / "weights").exists()
    (files / "gaps").write_text("the house is blue\n\nwe see the sea\n", encoding="utf-8")
    for odd, reference, warned in [
        (text.replace("\n", "\r\n"), "ref", ""),
        ("".join(lines[::2]), "ref", ""),  # one hypothesis each
        (text.replace(" good= 0", ""), "ref", ""),  # a feature that only some have
        (text.replace(WRONG[1], ""), "ref", "1 of 6 hypotheses have no words"),
        (text, "gaps", "1 of 3 references have no words"),
    ]:
        path.write_text(odd, encoding="utf-8", newline="")
        result = dragoman(*tune, files / reference)
        assert result.code == 0, result.err
        assert any(warned in text for text in result.warnings) if warned else not result.warnings
        (files / "weights").unlink()


def test_weights_behind_scores_are_found_again():
    from dragoman.core.corpus import Vocab
    from dragoman.core.feature_rows import FeatureRows
    from dragoman.core.nbest import NBest
    from dragoman.core.ragged import Ragged
    from dragoman.tuning.runs.rerank import first_weights

    matrix = np.random.default_rng(0).normal(size=(20, 2))
    lists = NBest(
        Vocab.of(["a"]),
        np.array([0, 20], np.int64),
        Ragged.of([[3]] * 20, np.int32),
        matrix @ [0.5, -2.0],
        FeatureRows.from_dense(["x", "y"], matrix),
    )
    found = first_weights(lists)
    assert found["x"] == pytest.approx(0.5)
    assert found["y"] == pytest.approx(-2.0)


def test_weights_that_overflow_are_an_error_with_a_name(dragoman, files):
    (files / "weights").write_text("bad 1e308\ngood 1\n", encoding="utf-8")
    result = dragoman("rerank", "apply", "--candidates", files / "list.gz", "--weights", files / "weights")
    assert result.code == 1
    assert "hypothesis 1 of sentence 1 has no finite score: bad weighs 1e+308" in result.error


def test_features_without_a_weight_are_counted(dragoman, files):
    (files / "weights").write_text("good 1\n", encoding="utf-8")
    result = dragoman("rerank", "apply", "--candidates", files / "list.gz", "--weights", files / "weights")
    assert result.code == 0
    assert result.warnings == [
        f"{files / 'weights'}: 1 of 2 features have no weight and are ignored: bad",
    ]
    (files / "weights").write_text("good 1\nbad 0\n", encoding="utf-8")
    assert not dragoman("rerank", "apply", "--candidates", files / "list.gz", "--weights", files / "weights").warnings


def applied(dragoman, files, text):
    (files / "weights").write_text("good 1\nbad 0\n", encoding="utf-8")
    (files / "lists").write_text(text, encoding="utf-8")
    return dragoman("rerank", "apply", "--candidates", files / "lists", "--weights", files / "weights")


def test_sentences_without_a_list_are_counted(dragoman, files):
    result = applied(dragoman, files, "".join(moses_lines().splitlines(keepends=True)[4:]))
    assert result.code == 0
    assert result.out == f"{REFERENCES[2]}\n"
    assert any("2 sentences have no hypotheses, the first of them has the id 0" in w for w in result.warnings)


def jsonl(*ids):
    row = '{{"id": {}, "hyps": [{{"text": "line {}", "features": {{"good": 1, "bad": 1}}}}]}}\n'
    return "".join(row.format(f'"{name}"' if isinstance(name, str) else name, name) for name in ids)


@pytest.mark.parametrize("ids", [(2, 0), ("b", "a"), ("s10", "s9")])
def test_output_follows_the_file_in_all_commands(dragoman, files, ids):
    text = jsonl(*ids).replace('"text"', '"logprob": -1, "text"')
    result = applied(dragoman, files, text)
    assert result.out == "".join(f"line {name}\n" for name in ids)
    chosen = dragoman("mbr", "--candidates", files / "lists")
    assert chosen.out == result.out
    with pytest.warns(DragomanWarning, match="order"):
        assert dm.mbr(files / "lists") == dm.rerank(files / "lists", {"good": 1.0}) == result.out.splitlines()
    assert (
        [one for one in result.warnings if "order" in one] == [one for one in chosen.warnings if "order" in one] != []
    )


def test_several_systems_and_computed_features(dragoman, files):
    for name, texts in (("a", REFERENCES), ("b", WRONG), ("c", REFERENCES)):
        rows = [{"id": i, "hyps": [{"text": text, "logprob": -1.0}]} for i, text in enumerate(texts)]
        (files / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    lm = files / "lm.arpa"
    assert dragoman("lm", "estimate", files / "ref", "--order", 2, "--out", lm).code == 0
    lists = ["--candidates", files / "b.jsonl", "--candidates", files / "a.jsonl"]
    made = ["--lm", f"lm={lm}", "--utility-feature", "agreement=chrf", "--length"]
    tuned = dragoman("rerank", "tune", *lists, *made, "--reference", files / "ref", "--out", files / "w")
    assert tuned.code == 0, tuned.err
    names = [*Weights.read(files / "w")]
    assert sorted(names) == ["agreement", "length", "lm", "logprob.a", "logprob.b", "system.a", "system.b"]
    out = files / "sorted.jsonl"
    found = dragoman("rerank", "apply", *lists, *made, "--weights", files / "w", "--out", out)
    assert found.out.splitlines() == REFERENCES
    assert len(out.read_text(encoding="utf-8").splitlines()) == 3
    assert "given twice" in dragoman("mbr", *lists, "--candidates", files / "a.jsonl").error
    chosen = dragoman("mbr", *lists, "--candidates", files / "c.jsonl", "--utility", "chrf")
    assert chosen.code == 0, chosen.err
    assert chosen.out.splitlines() == REFERENCES
    wrong = dragoman("rerank", "tune", *lists, "--lm", "lm", "--reference", files / "ref", "--out", files / "w")
    assert "--lm is 'lm'; expected NAME=PATH" in wrong.error


def test_help_lists_the_methods_that_take_lists(dragoman, files):
    shown = dragoman("rerank", "tune", "--help").out
    assert "mert" in shown
    assert "samplerank" not in shown
    tune = ["--candidates", files / "list.gz", "--reference", files / "ref", "--out", files / "w"]
    refused = dragoman("rerank", "tune", *tune, "--method", "samplerank")
    assert refused.code == 2
    assert "lists need one of" in refused.error


ARPA = "\\data\\\nngram 1=4\n\n\\1-grams:\n-1.0\t<unk>\n-99\t<s>\n-1.0\t</s>\n-0.5\tthe\n\n\\end\\\n"


def test_weights_say_how_features_are_computed(dragoman, files):
    (files / "lm.arpa").write_text(ARPA, encoding="utf-8")
    (files / "numbers").write_text("0\n1\n0\n1\n0\n1\n", encoding="utf-8")
    lists, weights = ["--candidates", files / "list.gz"], files / "weights"
    computed = ["--lm", f"lm={files / 'lm.arpa'}", "--utility-feature", "agreement=chrf", "--length"]
    numbers = ["--feature", f"numbers={files / 'numbers'}"]
    tuned = dragoman(
        "rerank", "tune", *lists, "--reference", files / "ref", *computed, *numbers, "--out", weights, "--method", "pro"
    )
    assert tuned.code == 0, tuned.err
    whole = dragoman("rerank", "apply", *lists, "--weights", weights, *computed, *numbers)
    short = dragoman("rerank", "apply", *lists, "--weights", weights, *numbers)
    assert (short.code, short.out) == (0, whole.out)
    assert dm.rerank(files / "list.gz", weights, features={"numbers": [0, 1] * 3}) == short.out.splitlines()

    result = dragoman("rerank", "apply", *lists, "--weights", weights)
    assert result.code != 0
    assert "tuned with numbers from numbers as 'numbers'" in result.err
    assert "--feature numbers=FILE" in result.err
    (files / "lm.arpa").write_text(ARPA.replace("-0.5", "-0.6"), encoding="utf-8")
    result = dragoman("rerank", "apply", *lists, "--weights", weights, *numbers)
    assert "which has changed" in result.err
    assert dragoman("rerank", "apply", *lists, "--weights", weights, *numbers, *computed).code == 0
    (files / "lm.arpa").unlink()
    result = dragoman("rerank", "apply", *lists, "--weights", weights, *numbers)
    assert "which is not there" in result.err
    assert "--lm lm=PATH" in result.err
    weights.write_text("# feature: nonsense\n" + weights.read_text(encoding="utf-8"), encoding="utf-8")
    assert "weights:1: has a comment on a feature" in dragoman("rerank", "apply", *lists, "--weights", weights).err


def test_systems_have_names_that_their_files_have_not(dragoman, files):
    for name in ("dev", "test"):
        for system, texts in (("a", REFERENCES), ("b", WRONG)):
            rows = [{"id": i, "hyps": [{"text": text, "score": -1.0}]} for i, text in enumerate(texts)]
            (files / f"{name}.{system}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def lists(name, labels=("a=", "b=")):
        pairs = zip(labels, "ab", strict=True)
        return [one for label, system in pairs for one in ("--candidates", f"{label}{files / name}.{system}.jsonl")]

    weights = files / "weights"
    result = dragoman(
        "rerank", "tune", *lists("dev"), "--reference", files / "ref", "--out", weights, "--method", "pro"
    )
    assert result.code == 0, result.err
    assert {"system.a", "system.b", "logprob.a", "logprob.b"} == set(Weights.read(weights))
    applied = dragoman("rerank", "apply", *lists("test"), "--weights", weights)
    assert applied.out.splitlines() == REFERENCES, applied.err
    assert "weight for 'system.a'" in dragoman("rerank", "apply", *lists("test", ["", ""]), "--weights", weights).err
    assert dragoman("mbr", *lists("test"), "--utility", "chrf").code == 0


def test_weights_and_a_language_model_move_together(dragoman, files, monkeypatch):
    home = files / "made"
    (home / "models").mkdir(parents=True)
    (home / "models" / "lm.arpa").write_text(ARPA, encoding="utf-8")
    (files / "elsewhere.arpa").write_text(ARPA, encoding="utf-8")
    monkeypatch.chdir(home)
    lists, inside = ["--candidates", files / "list.gz"], home / "models" / "lm.arpa"
    tune = ["rerank", "tune", *lists, "--reference", files / "ref", "--method", "pro", "--out"]
    assert dragoman(*tune, "weights", "--lm", "lm=models/lm.arpa").code == 0
    assert dragoman(*tune, files / "made" / "same", "--lm", f"lm={inside}").code == 0
    assert dragoman(*tune, "beside", "--lm", "lm=../elsewhere.arpa").code == 0
    assert dragoman(*tune, "away", "--lm", f"lm={files / 'elsewhere.arpa'}").code == 0
    assert not any(str(files) in (home / name).read_text() for name in ("weights", "same", "beside"))
    assert str(files / "elsewhere.arpa") in (home / "away").read_text()
    moved = files / "moved"
    monkeypatch.chdir(files)
    home.rename(moved)
    for name in ("weights", "same", "beside", "away"):
        applied = dragoman("rerank", "apply", *lists, "--weights", moved / name)
        assert applied.code == 0, applied.err
        assert dm.rerank(files / "list.gz", moved / name) == applied.out.splitlines()
    (moved / "models" / "lm.arpa").rename(files / "lm.arpa")
    lost = dragoman("rerank", "apply", *lists, "--weights", "moved/weights")
    said = " ".join(lost.err.split())
    assert "lm.arpa as 'lm', which is not there; expected the same as in tuning, or another by --lm lm=PATH" in said
    assert (
        dragoman("rerank", "apply", *lists, "--weights", "moved/weights", "--lm", f"lm={files / 'lm.arpa'}").code == 0
    )


def test_weights_of_sparse_features_may_be_of_other_texts(dragoman, files):
    weights = files / "weights"
    sparse = [f"sr.{i} 0.1\n" for i in range(30)]
    weights.write_text("".join(["bad 0\ngood 1\n", *sparse]), encoding="utf-8")
    command = ["rerank", "apply", "--candidates", files / "list.gz", "--weights", weights]
    assert dragoman(*command).out.splitlines() == REFERENCES
    weights.write_text("bad 0\ngood 1\nlm 1\n", encoding="utf-8")
    assert "has a weight for 'lm', which no hypothesis has" in dragoman(*command).error
