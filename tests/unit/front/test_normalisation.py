import pytest

import dragoman as dm
from oracles.spelling import MODERN, pairs, table


def test_a_normaliser_is_trained_saved_and_opened(tmp_path):
    (tmp_path / "words").write_text("\n".join(MODERN) + "\n", encoding="utf-8")
    (tmp_path / "dev.tsv").write_text(table(pairs(40, seed=2)), encoding="utf-8")
    trained = dm.normaliser(
        examples=pairs(60), dev=tmp_path / "dev.tsv", modern=tmp_path / "words", out=tmp_path / "n", progress=False
    )
    text = "Vnd  der THAG,\nweyn."
    assert trained.normalise(text) == dm.normaliser(tmp_path / "n").normalise(text) == "Und  der TAG,\nwein."
    assert trained.normalise(text, decision="mbr") == "Und  der TAG,\nwein."
    marked = "<p n='thag'>Vnd</p>\n"
    assert trained.normalise(marked) == trained.normalise(marked, markup="xml") == "<p n='thag'>Und</p>\n"
    assert trained.normalise(marked, markup="none") == "<p n='tag'>Und</p>\n"
    assert trained.normalise("thag\n\n\nVnd\tx\n", tokens=True) == "tag\n\n\nUnd\n"
    with pytest.raises(dm.core.errors.UsageError, match="markup is 'html'; expected one of auto, xml, none"):
        trained.normalise(marked, markup="html")
    assert trained.words(["vns"]) == [found.modern for found in trained.explain(["vns"])] == ["uns"]
    assert trained.evaluate([tmp_path / "dev.tsv"]).accuracy > 95
    assert [one.form for one in trained.suggest(["qthx"])] == ["qthx"]


def test_a_folder_or_examples_but_not_both():
    with pytest.raises(dm.core.errors.UsageError, match="folder of a normaliser"):
        dm.normaliser()
    with pytest.raises(dm.core.errors.UsageError, match="there is no option 'colour'"):
        dm.normaliser(examples=pairs(30), colour=1)


def test_pairs_have_capitals():
    pairs = [("vnd", "und"), ("jar", "Jahr"), ("vnter", "unter"), ("haus", "Haus")] * 6
    assert dm.normaliser(examples=pairs, progress=False).normalise("vnd jar, HAUS") == "und Jahr, HAUS"
