import gzip
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.core.progress import DragomanWarning
from dragoman.model.moses import export_moses, import_moses
from oracles.moses_chart import INI, RULES, write_model
from oracles.rules import rules_as_dict

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "hiero"


@pytest.fixture
def folder(tmp_path):
    return write_model(tmp_path)


def imported(folder, *changes):
    text = INI
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "moses.ini").write_text(text)
    return import_moses(folder / "moses.ini")


def test_weights_and_settings_come_from_the_ini(folder):
    model = import_moses(folder / "moses.ini")
    assert model.kind == "chart"
    assert dict(model.weights) == {
        "glue": pytest.approx(2 * math.log(2.718) + 0.125, abs=1e-12),
        "word_penalty": -0.5,
        "rule_penalty": 0.125,
        "unknown_word": 1.0,
        "lm": 0.75,
        "tm.bwd": 1,
        "tm.bwd_lex": 2,
        "tm.fwd": 3,
        "tm.fwd_lex": 4,
    }
    assert [*model.weights] == model.feature_names
    assert (model.settings.span_limit, model.settings.table_limit) == (12, 20)
    assert [*model.grammars] == ["tm"]
    assert len(model.grammars["tm"]) == 3
    assert [*model.language_models] == ["lm"]
    assert model.history == {"imported_from": "moses"}


def test_limits(folder):
    assert imported(folder, ("num-features=4", "num-features=4 table-limit=7")).settings.table_limit == 7
    with pytest.warns(DragomanWarning, match="the glue grammar has a limit in"):
        assert imported(folder, ("[max-chart-span]\n12\n1000\n", "")).settings.span_limit == 20
    with pytest.raises(DataError, match=r"moses.ini:7: found '9x'; expected a whole number"):
        imported(folder, ("12\n1000", "9x\n1000"))
    with pytest.raises(DataError, match=r"has the limits 0 in \[max-chart-span\]; expected the same positive one"):
        imported(folder, ("12\n1000", "0\n1000"))


def test_an_ini_of_version_1(folder):
    text = """
[ttable-file]
6 0 0 4 rules
6 0 0 1 glue
[weight-t]
1
2
3
4
2
[weight-w]
-0.5
[weight-p]
0.125
[max-chart-span]
12
1000
"""
    (folder / "moses.ini").write_text(text)
    model = import_moses(folder / "moses.ini")
    assert model.kind == "chart"
    assert model.weights["glue"] == pytest.approx(2 * math.log(2.718) + 0.125)
    assert model.weights["tm.fwd_lex"] == 4


def test_the_penalty_of_old_tables_counts_rules(folder):
    (folder / "rules").write_text(RULES.replace("||| 0-", "2.718 ||| 0-"))
    model = imported(folder, ("num-features=4", "num-features=5"), ("T0= 1 2 3 4", "T0= 1 2 3 4 0.5"))
    assert model.weights["rule_penalty"] == pytest.approx(0.125 + 0.5 * math.log(2.718))
    # The glue grammar has no such score.
    assert model.weights["glue"] == pytest.approx(2 * math.log(2.718) + 0.125)
    assert model.grammars["tm"].score_names == ("bwd", "bwd_lex", "fwd", "fwd_lex")


def test_penalties_of_two_tables(folder):
    """A rule of the second table has the first one's weight in rule_penalty: its own penalty is the difference."""
    (folder / "rules").write_text(RULES.replace("||| 0-", "2.718 ||| 0-"))
    (folder / "more").write_text("mot [X] ||| word [X] ||| 0.5 2.718 ||| 0-0 ||| 1 1 1 ||| |||\n")
    feature = "PhraseDictionaryMemory name=T2 num-features=2 path=more"
    model = imported(
        folder,
        ("num-features=4", "num-features=5"),
        ("T0= 1 2 3 4", "T0= 1 2 3 4 0.5"),
        ("12\n1000", "12\n1000\n12"),
        ("[weight]", f"{feature}\n[weight]\nT2= 9 2"),
    )
    assert model.weights["rule_penalty"] == pytest.approx(0.125 + 0.5 * math.log(2.718))
    assert model.weights["rule_penalty"] + model.weights["tm2.penalty"] == pytest.approx(0.125 + 2 * math.log(2.718))


@pytest.mark.parametrize("search", ["3", "5"])
def test_the_search_says_what_the_model_is_for(folder, search):
    limits = "[max-chart-span]\n12\n1000\n"
    changes = (("[non-terminals]\nX\n", ""), (limits, ""), ("rithm]\n3", f"rithm]\n{search}"))
    with pytest.warns(DragomanWarning, match="the glue grammar has a limit"):
        assert imported(folder, *changes).kind == "chart"
    assert imported(folder, *changes[:2], ("rithm]\n3", "rithm]\n1")).kind == "phrase"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("PhraseDictionaryMemory name=T1 num-features=1 path=glue\n", "", "found weights for T1"),
        ("path=glue", "path=rules", "moses.ini: names 0 glue grammars; expected one, with rules such as S → S X"),
        ("path=rules", "path=glue", "moses.ini: names 2 glue grammars; expected one"),
        ("name=T1 num-features=1", "name=T1", ""),
        ("T1= 2", "T1= 2 2", r"moses.ini:\d+: found 2 weights for"),
        ("T0= 1 2 3 4", "T0= 1 2 3", "rules: has 4 scores; expected 3"),
        ("PhraseDictionaryMemory name=T0 num-features=4 path=rules\n", "", ""),
    ],
)
def test_what_is_no_hierarchical_model(folder, old, new, message):
    changes = [(old, new)]
    if "T0= 1 2 3" in new:
        changes.append((" num-features=4", ""))
    if not message and not new:
        changes, message = [(old, ""), ("T0= 1 2 3 4\n", "")], "names no rule table; expected a hierarchical model"
    elif not message:
        changes.append(("T1= 2", "T1= 2 2"))
        message = "found 2 weights for the glue grammar T1; expected one"
    with pytest.raises(DataError, match=message):
        imported(folder, *changes)


def test_other_glue_is_refused(folder):
    (folder / "glue").write_text((folder / "glue").read_text().replace("</s> [S]", "</s> [TOP]"))
    with pytest.raises(DataError, match=r"glue:2: found .*; expected the three glue rules S → <s>, S </s>, S X"):
        import_moses(folder / "moses.ini")


def test_there_and_back(folder):
    (folder / "more").write_text("mot [X] ||| word [X] ||| 0.5 ||| 0-0 ||| 1 1 1 ||| |||\n")
    feature = "PhraseDictionaryMemory name=T2 num-features=1 path=more"
    model = imported(folder, ("12\n1000", "12\n1000\n12"), ("[weight]", f"{feature}\n[weight]\nT2= 9"))
    assert model.weights["tm2.s0"] == 9
    assert model.weights["tm2.penalty"] == 0
    model = replace(model, weights=model.weights.updated({"tm2.penalty": -0.75, "glue": 1 / 3}))
    export_moses(model, folder / "out")
    names = ["glue-grammar", "lm.arpa.gz", "moses.ini", "rule-table.tm.gz", "rule-table.tm2.gz"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == names
    back = import_moses(folder / "out" / "moses.ini")
    assert dict(back.weights) == pytest.approx(dict(model.weights), abs=1e-12)
    assert back.settings == model.settings
    for name, grammar in model.grammars.items():
        ours = grammar.to_pairs(model.source_vocab, model.target_vocab)
        theirs = back.grammars[name].to_pairs(back.source_vocab, back.target_vocab)
        assert theirs.score_names == ours.score_names
        assert rules_as_dict(theirs) == rules_as_dict(ours)
    export_moses(back, folder / "again")
    for name in ("glue-grammar", "rule-table.tm.gz", "rule-table.tm2.gz"):
        assert (folder / "again" / name).read_bytes() == (folder / "out" / name).read_bytes()


@pytest.mark.skipif(not REAL.exists(), reason="needs real tables")
@pytest.mark.parametrize("weights", ["untuned", "tuned"])
def test_scores_are_those_that_moses_printed(weights, tmp_path):
    """Our weights on what Moses' features are in our terms give its model scores."""
    folder = REAL / "de-en"
    (tmp_path / "moses.ini").write_text(
        (folder / f"moses.{weights}.ini").read_text().replace("rule-table.test_2016.gz", "few")
    )
    (tmp_path / "glue-grammar").write_bytes((folder / "glue-grammar").read_bytes())
    (tmp_path / "few").write_text(RULES)
    ini = (tmp_path / "moses.ini").read_text()
    (tmp_path / "moses.ini").write_text(re.sub(r"path=\S*lm3\S*", f"path={REAL.parent}/moses/de-en/lm3.arpa.gz", ini))
    model = import_moses(tmp_path / "moses.ini")
    constant = 2 * model.weights["rule_penalty"] - 2 * model.weights["word_penalty"]
    lines = gzip.decompress((folder / f"test_2016_flickr.{weights}.pop200.1best.gz").read_bytes()).decode().splitlines()
    unknown = 0
    for line in lines:
        _, _, features, score = line.split(" ||| ")
        theirs = {
            name: [*map(float, values.split())] for name, values in re.findall(r"(\w+)= ([^=]+)(?= |$)", features)
        }
        parts = round(theirs["TranslationModel1"][0] / math.log(2.718))
        values = {
            "glue": parts,
            "rule_penalty": theirs["PhrasePenalty0"][0] - parts - 2,
            "word_penalty": theirs["WordPenalty0"][0] + 2,
            "lm": theirs["LM0"][0],
            **dict(zip(("tm.bwd", "tm.bwd_lex", "tm.fwd", "tm.fwd_lex"), theirs["TranslationModel0"], strict=True)),
        }
        ours = sum(model.weights[name] * value for name, value in values.items()) + constant
        words = round((ours - float(score)) / 100)  # Moses does not print the feature of unknown words
        unknown += words
        assert ours - 100 * words == pytest.approx(float(score), abs=0.0014)
    assert len(lines) == 1000
    assert unknown > 0
