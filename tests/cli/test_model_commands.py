"""`dragoman model`: show, check, filter."""

import shutil

import numpy as np
import pytest

from dragoman.model.bundle import Model


def cells(line):
    return [cell for cell in line.split("  ") if cell.strip()]


def test_show_says_what_is_in_it(dragoman, model):
    result = dragoman("model", "show", model)
    loaded = Model.load(model)
    assert result.code == 0
    assert result.err == ""
    rows = {cells(line)[0].strip(): [cell.strip() for cell in cells(line)[1:]] for line in result.out.splitlines()}
    assert rows["source words"] == [f"{len(loaded.source_vocab):,}"]
    assert rows["phrase table tm"][0] == f"{len(loaded.tables['tm']):,}"
    assert rows["phrase table tm"][1].endswith("scores bwd, bwd_lex, fwd, fwd_lex")
    assert rows["language model lm"][1] == " + ".join(f"{n:,}" for n in loaded.language_models["lm"].sizes)


def test_show_a_phrase(dragoman, model):
    lines = dragoman("model", "show", model, "maison bleue").out.splitlines()
    assert lines[0].strip() == "tm: 1 translations of 'maison bleue'"
    assert [cell.strip() for cell in cells(lines[1])] == ["target", "bwd", "bwd_lex", "fwd", "fwd_lex", "links"]
    assert [cell.strip() for cell in cells(lines[2])] == ["blue house", "1", "1", "1", "1", "0-1 1-0"]


def test_show_the_most_likely_only(dragoman, model):
    both = dragoman("model", "show", model, "vol").out
    assert both.index("flight") < both.index("theft")
    one = dragoman("model", "show", model, "vol", "--limit", "1").out
    assert "flight" in one
    assert "theft" not in one
    assert "2 translations" in one


@pytest.mark.parametrize("phrase", ["", "xyz", "[/bold]", "la [red]"])
def test_phrases_that_are_not_there(dragoman, model, phrase):
    result = dragoman("model", "show", model, phrase)
    assert result.code == 0
    assert result.out.splitlines()[0].strip() == f"tm: 0 translations of '{phrase}'"


def test_check(dragoman, model):
    arrays = len(list(model.rglob("*.npy")))
    assert dragoman("model", "check", model).out == f"{model}: {arrays} arrays, all as they were written\n"


def test_filter_keeps_what_a_text_can_use(dragoman, model, tmp_path):
    (tmp_path / "test").write_text("la maison bleue\nxyz vol\n", encoding="utf-8")
    assert dragoman("model", "filter", model, "--source", tmp_path / "test", "--out", tmp_path / "small").code == 0
    small, whole = Model.load(tmp_path / "small"), Model.load(model)
    table = small.tables["tm"]
    phrases = {small.source_vocab.text(phrase) for phrase in table.sources}
    wanted = {"la", "maison", "bleue", "la maison", "maison bleue", "la maison bleue", "vol"}
    assert phrases == wanted
    for phrase in wanted:
        ids = [whole.source_vocab.id(word) for word in phrase.split()]
        ours, theirs = table.lookup(ids), whole.tables["tm"].lookup(ids)
        np.testing.assert_array_equal(table.log_scores[ours], whole.tables["tm"].log_scores[theirs])
        np.testing.assert_array_equal(table.log_reordering["lr"][ours], whole.tables["tm"].log_reordering["lr"][theirs])
    assert dict(small.weights) == dict(whole.weights)
    assert small.settings == whole.settings
    assert dragoman("model", "check", tmp_path / "small").code == 0


def test_filter_takes_standard_input_and_replaces_by_force_only(dragoman, model, tmp_path):
    arguments = ["model", "filter", model, "--source", "-", "--out", tmp_path / "small"]
    assert dragoman(*arguments, stdin=b"vol\n").code == 0
    assert len(Model.load(tmp_path / "small").tables["tm"]) == 2
    result = dragoman(*arguments, stdin=b"la\n")
    assert (result.code, result.error) == (2, f"{tmp_path}/small exists; use --force to replace it")
    assert dragoman(*arguments, "--force", stdin=b"la\n").code == 0
    assert len(Model.load(tmp_path / "small").tables["tm"]) == 1


def test_filter_with_a_text_of_unknown_words(dragoman, model, tmp_path):
    result = dragoman("model", "filter", model, "--source", "-", "--out", tmp_path / "small", stdin=b"xyz\n\n")
    assert result.code == 0
    assert len(Model.load(tmp_path / "small").tables["tm"]) == 0
    assert dragoman("model", "show", tmp_path / "small", "la").code == 0
    assert dragoman("model", "check", tmp_path / "small").code == 0


def test_filter_onto_itself(dragoman, model, tmp_path):
    copy = shutil.copytree(model, tmp_path / "m")
    assert dragoman("model", "filter", copy, "--source", "-", "--out", copy, "--force", stdin=b"vol\n").code == 0
    assert len(Model.load(copy).tables["tm"]) == 2
