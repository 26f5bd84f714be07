"""`dragoman import` and `export` of hierarchical models: Moses' rule tables, grammars of cdec and Joshua."""

import pytest

from dragoman.model.bundle import Model
from oracles.moses_chart import RULES, write_model
from oracles.rules import rules_as_dict


@pytest.fixture
def folder(tmp_path):
    return write_model(tmp_path)


def rules_of(path):
    model = Model.load(path)
    return rules_as_dict(model.grammars["tm"].to_pairs(model.source_vocab, model.target_vocab))


@pytest.fixture
def model(dragoman, folder):
    result = dragoman("import", "moses", folder / "moses.ini", "--out", folder / "model")
    assert (result.code, result.warnings) == (0, [])
    assert "grammar tm" in result.out
    return folder / "model"


def test_moses(dragoman, folder, model):
    assert dragoman("export", "moses", model, "--out", folder / "out").code == 0
    result = dragoman("import", "moses", folder / "out" / "moses.ini", "--out", folder / "back")
    assert (result.code, result.warnings) == (0, [])
    assert rules_of(folder / "back") == rules_of(model)
    assert Model.load(folder / "back").settings == Model.load(model).settings
    assert dict(Model.load(folder / "back").weights) == pytest.approx(dict(Model.load(model).weights), abs=1e-12)


def test_cdec(dragoman, folder, model):
    out = folder / "out"
    assert dragoman("export", "cdec", model, "--out", out).code == 0
    assert dragoman("export", "cdec", model, "--out", out).error == f"{out} exists; use --force to replace it"
    assert dragoman("export", "cdec", model, "--out", out, "--force").code == 0
    arguments = ("--lm", out / "lm.arpa.gz", "--weights", out / "weights")
    result = dragoman("import", "cdec", out / "grammar.gz", *arguments, "--out", folder / "back")
    assert (result.code, result.warnings) == (0, [])
    assert dict(Model.load(folder / "back").weights) == pytest.approx(dict(Model.load(model).weights), abs=1e-12)
    assert {key: rule[0] for key, rule in rules_of(folder / "back").items()} == {
        key: rule[0] for key, rule in rules_of(model).items()
    }


def test_cdec_with_a_grammar_for_each_sentence(dragoman, folder):
    (folder / "g0").write_text("[X] ||| la ||| the ||| f=-1 ||| 0-0\n")
    (folder / "g1").write_text("[X] ||| mot ||| word ||| f=-2 ||| 0-0\n")
    (folder / "input").write_text('<seg grammar="g0" id="0"> la </seg>\n<seg grammar="g1" id="1"> mot </seg>\n')
    arguments = ("--segments", folder / "input", "--text", folder / "text", "--lm", folder / "lm")
    assert dragoman("import", "cdec", *arguments, "--out", folder / "model").code == 0
    assert (folder / "text").read_text() == "la\nmot\n"
    assert len(rules_of(folder / "model")) == 2
    for wrong in ((), (folder / "g0", "--segments", folder / "input"), (folder / "g0", "--text", folder / "text")):
        result = dragoman("import", "cdec", *wrong, "--out", folder / "other")
        assert result.code == 2
        assert result.error == "expected either a grammar, or --segments (with an optional --text)"


def test_joshua(dragoman, folder, model):
    assert dragoman("export", "joshua", model, "--out", folder / "out").code == 0
    names = "bwd,bwd_lex,fwd,fwd_lex"
    result = dragoman("import", "joshua", folder / "out" / "grammar.gz", "--scores", names, "--out", folder / "back")
    assert result.code == 0
    assert Model.load(folder / "back").grammars["tm"].score_names == tuple(names.split(","))
    assert rules_of(folder / "back").keys() == rules_of(model).keys()


def test_a_bad_rule_is_named(dragoman, folder):
    (folder / "rules").write_text(RULES.replace("0-2 1-1 2-0", "0-2 1-1"))
    result = dragoman("import", "moses", folder / "moses.ini", "--out", folder / "model")
    assert result.code == 1
    assert result.error == (
        f"{folder}/rules:1: the links '0-2 1-1' leave out a nonterminal; expected one link for each nonterminal"
    )
    assert not (folder / "model").exists()
