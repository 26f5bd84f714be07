"""`dragoman normalise`: train, apply, suggest, evaluate."""

import json

import pytest

from oracles.spelling import MODERN, pairs, table

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("normalise")
    for name, rows in {"train": pairs(80), "dev": pairs(50, seed=2), "test": pairs(40, seed=3)}.items():
        (folder / f"{name}.tsv").write_text(table(rows), encoding="utf-8")
    (folder / "words").write_text("\n".join(MODERN) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def model(dragoman, trained):
    out = trained / "model"
    if not out.exists():
        files = ["--examples", trained / "train.tsv", "--dev", trained / "dev.tsv", "--modern", trained / "words"]
        result = dragoman("normalise", "train", *files, "--out", out)
        assert result.code == 0, result.err
        assert "forms memorised, 70 modern words" in result.err
    return out


def test_running_text_keeps_its_form(dragoman, model):
    result = dragoman("normalise", "apply", "--model", model, stdin="»Vnd  der THAG,\n\nweyn.\n".encode())
    assert result.out == "»Und  der TAG,\n\nwein.\n"


def test_line_ends_stay(dragoman, model):
    text = b"Vnd\r\n\r\nthag(weyn)"
    assert dragoman("normalise", "apply", "--model", model, stdin=text).out == "Und\r\n\r\ntag(wein)"


def test_markup_is_recognised_and_said(dragoman, model):
    text = b'<p n="Vnd">Vnd\n<hi\n rend="thag">thag</hi>&amp;</p>\n'
    kept = '<p n="Vnd">Und\n<hi\n rend="thag">tag</hi>&amp;</p>\n'
    options = ["normalise", "apply", "--model", model]
    found = dragoman(*options, stdin=text)
    assert (found.out, found.err.count("looks like XML")) == (kept, 1)
    told = dragoman(*options, "--markup", "xml", stdin=text)
    assert (told.out, told.err) == (kept, "")
    as_text = dragoman(*options, "--markup", "none", stdin=text)
    assert (as_text.out, as_text.err) == (kept.replace('"Vnd"', '"Und"').replace('"thag"', '"tag"'), "")
    open_end = dragoman(*options, "--markup", "xml", stdin=b"Vnd <!-- Vnd\n")
    assert (open_end.out, "the last comment is not closed" in open_end.err) == (
        "Und <!-- Vnd\n",
        True,
    )


@pytest.fixture(scope="module")
def clipped(tmp_path_factory):
    """Examples of forms that end in punctuation, have digits or spaces, and are written with capital letters."""
    folder = tmp_path_factory.mktemp("clipped")
    odd = [("v'", "v"), ("k'", "k"), ("Vnd", "Und"), ("z B.", "zum Beispiel"), ("1.", "1."), ("2ten", "zweiten")]
    odd += [("-", "-"), ("thag", "Tag"), ("3ten", "3ten"), ("d'r", "der")]
    rows = [row for i, pair in enumerate(pairs(80)) for row in (pair, odd[i % len(odd)])]
    (folder / "train.tsv").write_text(table(rows), encoding="utf-8")
    more = [
        ("3ten", "dritten"),
        ("2ten", "2ten"),
        ("17.", "17."),
        ("V'", "V"),
        ("z  B.", "zum Beispiel"),
        ("'n", "ein"),
    ]
    rows = [row for i, pair in enumerate(pairs(40, seed=3)) for row in (pair, (odd + more)[i % 16])]
    (folder / "test.tsv").write_text(table(rows), encoding="utf-8")
    return folder, rows


@pytest.mark.parametrize("context", [[], ["--context"]])
def test_apply_is_as_good_as_evaluate_says(dragoman, clipped, context):
    folder, rows = clipped
    out = folder / f"model{len(context)}"
    trained = dragoman("normalise", "train", "--examples", folder / "train.tsv", "--out", out, *context)
    assert trained.code == 0, trained.err
    evaluated = dragoman("normalise", "evaluate", "--model", out, "--json", folder / "test.tsv")
    tokens = (folder / "test.tsv").read_bytes()
    applied = dragoman("normalise", "apply", "--model", out, "--tokens", stdin=tokens).out.splitlines()
    found = [line for line in applied if line]
    assert len(found) == len(rows)
    judged = [(new.lower(), one.lower()) for (old, new), one in zip(rows, found, strict=True) if old != "-"]
    right = sum(new == one for new, one in judged)
    assert json.loads(evaluated.out)[str(out)]["accuracy"] == pytest.approx(100 * right / len(judged), abs=1e-9)
    assert 60 < 100 * right / len(judged) < 100
    # Running text of forms that the examples have, one a line, gives the same.
    if not context:
        known = {old for line in (folder / "train.tsv").read_text().splitlines() for old in line.split("\t")[:1]}
        same = [(old, one) for (old, _), one in zip(rows, found, strict=True) if old in known]
        text = "".join(f"{old}\n" for old, _ in same).encode()
        running = dragoman("normalise", "apply", "--model", out, stdin=text).out.splitlines()
        assert running == [one for _, one in same]
        assert ("v'", "v") in same


def test_tokens_and_tables(dragoman, model):
    tokens = b"Vnd\tUnd\n\nthag\n"
    options = ["normalise", "apply", "--model", model, "--tokens"]
    assert dragoman(*options, stdin=tokens).out == "Und\n\ntag\n"
    first, empty, second = dragoman(*options, "--output", "tsv", stdin=tokens).out.splitlines()
    assert (first.split("\t")[:2], empty, second.split("\t")[:2]) == (["Vnd", "Und"], "", ["thag", "tag"])
    assert 0 < float(first.split("\t")[2]) <= 1
    by_rule = dragoman(*options, "--decision", "mbr", "--decision-option", "metric=cer", stdin=tokens)
    assert by_rule.out == "Und\n\ntag\n"


def test_suggestions_are_examples_to_correct(dragoman, model):
    result = dragoman("normalise", "suggest", "--model", model, "--limit", "2", stdin=b"qthx, qthx vntheren thagx\n")
    rows = [line.split("\t") for line in result.out.splitlines()]
    assert len(rows) == 2
    assert all(len(row) == 5 for row in rows)
    assert {row[0] for row in rows} < {"qthx", "vntheren", "thagx"}


def test_evaluation_has_baselines_and_significance(dragoman, model, trained):
    result = dragoman("normalise", "evaluate", "--model", model, "--json", trained / "test.tsv")
    found = json.loads(result.out)
    assert found[str(model)]["accuracy"] > 95 > found["as they are"]["accuracy"]
    assert found["as they are"]["p"] < 0.01
    assert found[str(model)]["p"] == 1
    shown = dragoman("normalise", "evaluate", "--model", model, trained / "test.tsv").out
    assert "40 tokens" in shown
    assert "memorised forms" in shown


@pytest.mark.parametrize(
    ("examples", "dev", "complaint"),
    [
        ("vnd und\n", None, "examples:1: found one column, 'vnd und'; expected a historical form, a tab"),
        ("\n,\t.\n", None, "there are no examples"),
        ("vnd\tund\n" * 30, "", "dev: has no examples; expected some, or no --dev"),
        ("vnd\tund\n" * 3, None, "there are 3 examples; expected at least 20"),
        ("\x80", None, "not UTF-8"),
    ],
)
def test_bad_examples(dragoman, tmp_path, examples, dev, complaint):
    (tmp_path / "examples").write_bytes(examples.encode("latin-1"))
    options = ["--examples", tmp_path / "examples", "--out", tmp_path / "out"]
    if dev is not None:
        (tmp_path / "dev").write_text(dev)
        options += ["--dev", tmp_path / "dev"]
    result = dragoman("normalise", "train", *options)
    assert result.code == 1
    assert complaint in result.error
    assert not (tmp_path / "out").exists()


def test_other_folders_are_refused(dragoman, tmp_path, model, trained):
    result = dragoman("normalise", "apply", "--model", tmp_path, stdin=b"")
    assert (result.code, "has no normaliser.toml" in result.error) == (1, True)
    again = dragoman("normalise", "train", "--examples", trained / "train.tsv", "--out", model)
    assert (again.code, "use --force" in again.error) == (2, True)
