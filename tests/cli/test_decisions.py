"""`translate --decision` and `tune-decision`, as a user types them."""

import pytest

from dragoman.core.options import read_toml
from dragoman.decision import RULES


@pytest.fixture(scope="module")
def text(toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("held-out")
    for name, lines in (
        ("s", [" ".join(pair.source) for pair in toy.pairs[:12]]),
        ("t", [" ".join(pair.target) for pair in toy.pairs[:12]]),
    ):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES.names())
def test_every_rule_translates(dragoman, model, text, rule):
    first = dragoman("translate", "--model", model, text / "s", "--threads", "1")
    found = dragoman("translate", "--model", model, "--decision", rule, text / "s", "--threads", "2")
    assert found.code == 0, found.err
    assert len(found.out.splitlines()) == 12
    if rule == "max-derivation":
        assert found.out == first.out
    elif rule != "lattice-mbr":  # whose gain is not at its highest for what is certain
        sharp = dragoman(
            "translate", "--model", model, "--decision", rule, "--decision-option", "scale=1e4", text / "s"
        )
        assert sharp.out == first.out


def test_an_empty_line_stays_one(dragoman, model):
    found = dragoman("translate", "--model", model, "--decision", "lattice-mbr", stdin=b"\n\n")
    assert (found.code, found.out) == (0, "\n\n")


def test_evidence_can_be_chosen(dragoman, model, text):
    arguments = ["translate", "--model", model, "--decision", "consensus", text / "s"]
    lists = dragoman(*arguments, "--evidence", "nbest", "--nbest-size", "20")
    assert lists.code == 0, lists.err
    assert len(lists.out.splitlines()) == 12


def test_a_grid_keeps_the_best_options_for_translate(dragoman, model, text, tmp_path):
    out, plot = tmp_path / "decision.toml", tmp_path / "grid.svg"
    arguments = ["--model", model, "--source", text / "s", "--reference", text / "t", "--decision", "lattice-mbr"]
    grid = ["--grid", "scale=0.1,1,10", "--grid", "p=0.5,0.9", "--decision-option", "r=0.6"]
    result = dragoman("tune-decision", *arguments, *grid, "--out", out, "--plot", plot)
    assert result.code == 0, result.err
    *lines, signature = result.out.splitlines()[2:]
    rows = [line.split() for line in lines]
    assert signature.startswith("bleu|nrefs:1|text:prepared|")
    assert len(rows) == 6
    (best,) = [row for row in rows if row[-1] == "best"]
    assert float(best[2]) == max(float(row[2]) for row in rows)
    kept = read_toml(out)
    assert (kept["rule"], kept["evidence"]) == ("lattice-mbr", "hypergraph")
    assert (kept["options"]["scale"], kept["options"]["p"], kept["options"]["r"]) == (
        float(best[0]),
        float(best[1]),
        0.6,
    )
    assert plot.read_text(encoding="utf-8").startswith("<svg")

    translated = dragoman("translate", "--model", model, "--decision", out, text / "s")
    given = [f"--decision-option={name}={best[i]}" for i, name in enumerate(("scale", "p"))]
    same = dragoman(
        "translate", "--model", model, "--decision", "lattice-mbr", *given, "--decision-option=r=0.6", text / "s"
    )
    assert translated.out == same.out
    (tmp_path / "out").write_text(translated.out, encoding="utf-8")
    score = dragoman("score", "--reference", text / "t", tmp_path / "out")
    assert best[2][:4] in score.out


def test_what_makes_no_sense_is_one_sentence(dragoman, model, text, tmp_path):
    def error(*arguments):
        result = dragoman("translate", "--model", model, *arguments, text / "s")
        assert result.code in (1, 2)
        assert result.out == ""
        return result.error

    assert error("--decision", "mbr", "--evidence", "hypergraph") == (
        "mbr decides by n-best lists or samples, not by hypergraphs"
    )
    assert "no rule is called 'best'" in error("--decision", "best")
    assert "goes without --force" in error("--decision", "mbr", "--show")
    assert "go with --decision" in error("--evidence", "nbest")
    assert error("--decision", "mbr", "--decision-option", "scale=0") == "scale is 0; expected more than 0"
    assert "expected NAME=VALUE" in error("--decision", "mbr", "--decision-option", "alpha=2")
    bad = tmp_path / "bad.toml"
    assert "cannot be read" in error("--decision", bad)
    for content, message in [
        ("rule = 3\n", "names no rule"),
        ('rule = "mbr"\nnbest_size = 0\n', "nbest_size"),
        ('rule = "mbr"\nevidence = "tea"\n', "evidence"),
        ('rule = "mbr"\nspeed = 1\n', "speed"),
        ('rule = "mbr"\n[options]\nscale = -1.0\n', "scale is -1"),
        ('rule = "mbr"\n[options]\nscal = 1.0\n', "unknown option 'scal'"),
        ("rule =", "is not TOML"),
    ]:
        bad.write_text(content, encoding="utf-8")
        found = error("--decision", bad)
        assert found.startswith(f"{bad}:")
        assert message in found


def test_grids_that_make_no_sense(dragoman, model, text, tmp_path):
    arguments = ["--model", model, "--source", text / "s", "--reference", text / "t", "--out", tmp_path / "out"]
    for grid, message in (("scale", "expected NAME=VALUE"), ("scale=0,1", "scale is 0"), ("tea=1", "found 'tea=1'")):
        result = dragoman("tune-decision", *arguments, "--decision", "mbr", "--grid", grid)
        assert result.code == 2
        assert message in result.error
    assert not (tmp_path / "out").exists()


def test_a_grid_of_scales_draws_samples_at_each(dragoman, model, text, tmp_path):
    arguments = ["--model", model, "--source", text / "s", "--reference", text / "t", "--decision", "mbr"]
    arguments += ["--evidence", "samples", "--sampling-option", "samples=20", "--sampling-option", "temperature=2"]
    out = tmp_path / "decision.toml"
    grid = ["--grid", "metric=bleu,chrf", "--grid", "scale=0.1,40"]
    result = dragoman("tune-decision", *arguments, *grid, "--out", out)
    assert result.code == 0, result.err
    rows = [line.split() for line in result.out.splitlines()[2:-1]]
    assert [row[:2] for row in rows] == [["bleu", "0.1"], ["bleu", "40"], ["chrf", "0.1"], ["chrf", "40"]]
    scores = {(row[0], row[1]): row[2] for row in rows}
    assert float(scores["bleu", "40"]) > float(scores["bleu", "0.1"])
    kept = read_toml(out)
    assert (kept["options"]["scale"], kept["sampling"]["temperature"]) == (1.0, 0.05)
    assert "start_temperature" not in kept["sampling"]
    # Each score is that of samples drawn at the temperature that the scale stands for.
    for scale, temperature in (("0.1", "20"), ("40", "0.05")):
        options = ["--sampling-option", "samples=20", "--sampling-option", f"temperature={temperature}"]
        flags = ["--decision", "mbr", "--evidence", "samples", *options]
        translated = dragoman("translate", "--model", model, *flags, "--decision-option", "metric=bleu", text / "s")
        (tmp_path / "out").write_text(translated.out, encoding="utf-8")
        assert scores["bleu", scale][:4] in dragoman("score", "--reference", text / "t", tmp_path / "out").out


@pytest.mark.parametrize("scale", ["0", "nan", "inf", "tea"])
def test_scales_of_samples_that_make_no_sense(dragoman, model, text, tmp_path, scale):
    arguments = ["--model", model, "--source", text / "s", "--reference", text / "t", "--out", tmp_path / "out"]
    rule = ["--decision", "mbr", "--evidence", "samples"]
    result = dragoman("tune-decision", *arguments, *rule, "--grid", f"scale=1,{scale}")
    assert result.code == 2
    assert result.error.startswith("scale is ")
    assert not (tmp_path / "out").exists()
