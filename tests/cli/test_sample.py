"""`dragoman sample`."""

import json

import numpy as np
import pytest

from dragoman.forest.kbest import kbest
from dragoman.formats.hypergraph_jsonl import read_hypergraphs


@pytest.fixture
def source(toy, tmp_path):
    path = tmp_path / "source"
    lines = [" ".join(pair.source) for pair in toy.pairs[:4]]
    path.write_text("".join(f"{line}\n" for line in ["", *lines]), encoding="utf-8")
    return path


def test_samples_as_json(dragoman, model, source, tmp_path):
    out = tmp_path / "samples.jsonl"
    arguments = ["sample", "--model", model, "--source", source, "--samples", "50", "--burn-in", "5", "--threads", "1"]
    result = dragoman(*arguments, "--out", out)
    assert (result.code, result.out) == (0, "")
    assert "distinct derivations" in result.err
    assert "with a disconnected segmentation graph" in result.err
    assert "jumps accepted" in result.err
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == [0, 1, 2, 3, 4]
    for row in rows:
        assert row["samples"] == 100
        counts = [sum(derivation["count"]) for derivation in row["derivations"]]
        assert counts == sorted(counts, reverse=True)
        assert sum(derivation["probability"] for derivation in row["derivations"]) == pytest.approx(1)
    assert rows[0]["derivations"][0]["text"] == ""
    first = rows[1]["derivations"][0]
    assert first["segmentation"][-1][3] == len(first["text"].split())
    assert "lm" in first["features"]
    again = tmp_path / "again.jsonl"
    dragoman(*arguments, "--out", again)
    assert again.read_bytes() == out.read_bytes()


def test_every_flag_does_something(dragoman, model, source, tmp_path):
    weights = tmp_path / "weights.txt"
    weights.write_text(
        (model / "weights.txt").read_text(encoding="utf-8").replace("lm 0.5", "lm 0.2"), encoding="utf-8"
    )
    fixed = ["sample", "--model", model, "--source", source, "--samples", "30", "--burn-in", "2", "--no-features"]
    written = {}
    for flags in (
        [],
        ["--seed", "2"],
        ["--temperature", "5"],
        ["--start-temperature", "9"],
        ["--scan", "random"],
        ["--collect", "pass"],
        ["--thin", "3"],
        ["--chains", "1"],
        ["--initial", "random"],
        ["--initial", "random-decoding", "--no-adaptive-jumps"],
        ["--no-adaptive-jumps"],
        ["--scan", "random", "--positions", "changes"],
        ["--proposal-order", "1"],
        ["--proposal-order", "1", "--accept", "scan"],
        ["--jump-every", "0"],
        ["--reorder", "0"],
        ["--reordering-limit", "0"],
        ["--proposal-weights", weights],
        ["--weights", weights],
    ):
        out = tmp_path / "out.jsonl"
        assert dragoman(*fixed, *flags, "--out", out).code == 0
        assert out.read_bytes() not in written, (flags, written[out.read_bytes()])
        written[out.read_bytes()] = flags


@pytest.mark.parametrize(
    ("flags", "code", "sentence"),
    [
        (["--samples", "0"], 2, "--samples is 0; expected at least 1"),
        (["--temperature", "0"], 2, "--temperature is 0.0; expected at least 1e-06"),
        (["--positions", "changes"], 2, "positions are drawn by their changes in random scans"),
        (["--accept", "scan"], 2, "whole scans are accepted or rejected if they are proposed with other models"),
        (
            ["--accept", "scan", "--proposal-order", "1", "--collect", "pass"],
            2,
            "a sample for each operator's pass was asked for, and passes are not accepted or rejected one by one",
        ),
        (["--temperature", "nan"], 2, "--temperature is nan; expected a finite number"),
        (["--global-feature", "length_ratio"], 2, "--global-feature is 'length_ratio'; expected NAME=WEIGHT"),
        (["--global-feature", "size=1"], 2, "no global_feature is called 'size'; there are bracket_balance"),
        (
            ["--jump-every", "0", "--merge-split", "0", "--reorder", "0", "--retranslate", "0"],
            2,
            "the chain has no moves and no jumps",
        ),
    ],
)
def test_bad_flags(dragoman, model, source, tmp_path, unchanged, flags, code, sentence):
    unchanged()
    result = dragoman("sample", "--model", model, "--source", source, "--out", tmp_path / "out", *flags)
    assert result.code == code
    assert result.error.startswith(sentence)


def test_packed_samples(dragoman, model, source, tmp_path):
    out, packed = tmp_path / "samples.jsonl", tmp_path / "packed.jsonl"
    arguments = ["sample", "--model", model, "--source", source, "--samples", "50", "--out", out]
    assert dragoman(*arguments, "--hypergraphs", packed).code == 0
    lists = [json.loads(line)["derivations"] for line in out.read_text(encoding="utf-8").splitlines()]
    for derivations, graph in zip(lists, read_hypergraphs(packed), strict=True):
        found = kbest(graph, 10_000)
        assert sorted(np.exp(found.scores)) == pytest.approx(sorted(row["probability"] for row in derivations))
        assert graph.edges <= 2 + sum(1 + len(row["segmentation"]) for row in derivations)


def test_chains_that_disagree_are_counted(dragoman, model, source, tmp_path):
    arguments = ["sample", "--model", model, "--source", source, "--out", tmp_path / "out", "--no-features"]
    # Chains that cannot leave their segmentations.
    stuck = dragoman(*arguments, "--initial", "random", "--merge-split", "0", "--jump-every", "0", "--samples", "50")
    assert stuck.code == 0
    (warning,) = [line for line in stuck.warnings if "disagree" in line]
    largest = warning.partition("(largest: ")[2].partition(")")[0]
    assert float(largest) > 1.1
    assert f"largest R-hat of scores over chains {largest}" in " ".join(stuck.err.split())
    long = dragoman(*arguments, "--samples", "2000")
    assert not [line for line in long.warnings if "disagree" in line]
    assert "largest R-hat of scores over chains 1.0" in " ".join(long.err.split())
    alone = dragoman(*arguments, "--chains", "1")
    assert "R-hat" not in alone.err
