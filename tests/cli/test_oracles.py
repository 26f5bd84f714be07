"""`dragoman oracles`: figure 1 of Chiang et al. for a sentence."""

import pytest

from oracles import tiny_grammar


@pytest.fixture
def text(tmp_path):
    tiny_grammar.tiny_model().save(tmp_path / "model")
    for name, lines in (("source", tiny_grammar.SOURCE), ("reference", tiny_grammar.TARGET)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [
        *("--model", tmp_path / "model", "--source", tmp_path / "source"),
        *("--reference", tmp_path / "reference", "--prepared"),
    ]


def test_it_lists_and_draws_what_is_hoped_for_and_feared(dragoman, text, tmp_path):
    out = tmp_path / "oracles.svg"
    result = dragoman("oracles", *text, "--line", 2, "--nbest", 3, "--out", out)
    assert result.code == 0, result.err
    title, _, *rows, signature = result.out.splitlines()
    assert signature.startswith("bleu|nrefs:1|text:prepared|")
    assert title == tiny_grammar.SOURCE[1]
    assert [row.split()[0] for row in rows] == ["0"] * 3 + ["0.5"] * 3 + ["1"] * 3 + ["inf"] * 3
    assert tiny_grammar.TARGET[1] in rows[0]
    gains = [float(row.split()[1]) for row in rows]
    assert gains[0] == max(gains)
    assert min(gains[9:]) == min(gains)
    picture = out.read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert "score by the model" in picture
    assert "µ = ∞" in picture


def test_what_makes_no_sense_is_refused(dragoman, text):
    for options, sentence in (
        (["--line", 9], "--line is 9, but"),
        (["--mu", "2"], "--mu is '2'; expected a number from 0 to 1, or inf"),
        (["--mu", "half"], "--mu is 'half'; expected a number from 0 to 1, or inf"),
    ):
        result = dragoman("oracles", *text, *options)
        assert result.code == 2
        assert sentence in result.err
