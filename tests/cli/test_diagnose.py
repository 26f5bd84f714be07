"""`dragoman diagnose`: tables, a page and JSON, and what cannot be diagnosed."""

import json

import pytest

pytestmark = pytest.mark.slow

SMALL = ("--samples", 60, "--nbest", 200, "--pop-limit", 20)


def written(tmp_path, *lines):
    source = tmp_path / "source"
    source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return source


def short(toy, words):
    """Sentences of at most so many words."""
    return [" ".join(pair.source) for pair in toy.pairs if len(pair.source) <= words]


def test_everything_comes_out(dragoman, model, toy, tmp_path):
    one, two = short(toy, 5)[:2]
    long = " ".join(" ".join(pair.source) for pair in toy.pairs[:6])
    source = written(tmp_path, one, "", long, two, one)
    arguments = ["diagnose", "--model", model, "--source", source, "--limit-words", 5, "--sentences", 2, *SMALL]
    results = {
        threads: dragoman(*arguments, "--threads", threads, "--out", tmp_path / f"out{threads}") for threads in (1, 2)
    }
    result = results[1]
    assert result.code == 0, result.err
    assert "1 lines are empty; skipped" in result.err
    assert "1 lines are longer than 5 words; skipped" in result.err
    for title in ("Sentences", "Chains", "Sampler divergence", "Expected features", "Mean absolute error"):
        assert f"{title}" in result.out
    found = json.loads((tmp_path / "out1" / "diagnostics.json").read_text(encoding="utf-8"))
    assert [row["number"] for row in found["sentences"]] == [1, 4]
    assert [row["source"] for row in found["sentences"]] == [one, two]
    assert found["averages"]["exact_sentences"] == 2
    assert found["setting"]["diagnosis"]["samples"] == 60
    for row in found["sentences"]:
        assert row["sizes"] == [100, 120]
        for run in row["runs"]:
            assert all(value >= 0 for value in run["curves"]["derivations"]["divergence"])
    assert "<svg" in (tmp_path / "out1" / "report.html").read_text(encoding="utf-8")
    assert results[2].out == result.out
    for name in ("diagnostics.json", "report.html"):
        assert (tmp_path / "out1" / name).read_bytes() == (tmp_path / "out2" / name).read_bytes()


def test_a_sentence_that_is_too_large_goes_without_exact_numbers(dragoman, model, toy, tmp_path):
    source = written(tmp_path, short(toy, 5)[0])
    result = dragoman(
        "diagnose", "--model", model, "--source", source, "--exhaustive-size", 3, "--out", tmp_path / "out", *SMALL
    )
    assert result.code == 0, result.err
    assert len(result.warnings) == 1
    assert result.warnings[0].startswith("line 1 is too large for exact numbers")
    assert "too large" in result.out
    assert "Expected features" not in result.out
    found = json.loads((tmp_path / "out" / "diagnostics.json").read_text(encoding="utf-8"))
    assert found["sentences"][0]["derivation_entropy"] is None
    assert found["averages"]["derivation_entropy"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--samples", 0], 2, "--samples is 0; expected at least 4"),
        (["--initial", "gloss,worst"], 2, "expected some of gloss, monotone, random, random-decoding, beam"),
        (["--temperature", -1], 2, "--temperature is -1.0; expected more than 0"),
        (["--limit-words", 1], 1, "has no sentence to look at; expected one of 1 to 1 words"),
        (["--max-size", 2], 1, "line 2 needs more than 2 hypotheses and arcs; expected a shorter sentence"),
        (
            ["--merge-split", 0, "--reorder", 0, "--retranslate", 0, "--jump-every", 0],
            2,
            "the chain has no moves and no jumps",
        ),
    ],
)
def test_what_makes_no_sense(dragoman, model, toy, tmp_path, unchanged, arguments, code, message):
    source = written(tmp_path, "", short(toy, 5)[0])
    unchanged()
    result = dragoman("diagnose", "--model", model, "--source", source, "--out", tmp_path / "out", *SMALL, *arguments)
    assert result.code == code
    assert message in result.error


def test_an_old_folder_is_kept(dragoman, model, toy, tmp_path):
    source = written(tmp_path, short(toy, 5)[0])
    arguments = ["diagnose", "--model", model, "--source", source, "--out", tmp_path / "out", *SMALL]
    (tmp_path / "out").mkdir()
    result = dragoman(*arguments)
    assert result.code == 2
    assert "exists; use --force" in result.error
    assert dragoman(*arguments, "--force").code == 0
    assert (tmp_path / "out" / "report.html").exists()
