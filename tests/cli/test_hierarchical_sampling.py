"""Commands that sample, with a hierarchical model."""

import json

import numpy as np
import pytest

from oracles import chart_space

pytestmark = pytest.mark.slow

LINES = ["f0 f1 f2", "f2 f4 f1 f0", "f3"]


@pytest.fixture(scope="module")
def grammar(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hierarchical") / "model"
    chart_space.random_model(np.random.default_rng(3), language_models=2).save(folder)
    return folder


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def test_sample(dragoman, grammar, source, tmp_path):
    out = tmp_path / "samples.jsonl"
    given = ["sample", "--model", grammar, "--source", source, "--samples", "50", "--out", out]
    result = dragoman(*given)
    assert result.code == 0
    for move in ("subtrees", "rules", "glues", "jumps"):
        assert f"{move} accepted" in result.err
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["samples"] for row in rows] == [100, 100, 100]
    assert {"glue", "lm", "lm2"} <= {name for row in rows for one in row["derivations"] for name in one["features"]}
    first = out.read_bytes()
    assert dragoman(*given, "--threads", "2").code == 0
    assert out.read_bytes() == first
    result = dragoman(*given, "--reorder", "0")
    assert result.code == 2
    assert "reorder is 0.0, which chains of a hierarchical model do not know" in result.err


def test_diagnose(dragoman, grammar, source, tmp_path):
    result = dragoman(
        "diagnose", "--model", grammar, "--source", source, "--samples", "200", "--out", tmp_path / "found"
    )
    assert result.code == 0
    assert "accepted subtree" in result.out
    assert "too large" not in result.out


@pytest.mark.parametrize("how", [["--anneal"], ["--decision", "mbr", "--evidence", "samples"]])
def test_translate(dragoman, grammar, source, how):
    result = dragoman("translate", "--model", grammar, *how, source)
    assert result.code == 0
    assert len(result.out.splitlines()) == len(LINES)
    assert dragoman("translate", "--model", grammar, *how, source).out == result.out
