"""`dragoman mbr`: anybody's candidates, evidence apart, weights of all sorts, and what is wrong with files."""

import json

import numpy as np
import pytest

LISTS = [
    ["the cat sat", "the cat sat down", "a dog sat down", "the cat sat down"],
    ["we see the sea", "we see a sea", "they hear"],
]
LOGPROBS = [[-1.0, -1.5, -0.5, -1.5], [-0.1, -3.0, -3.0]]


@pytest.fixture
def jsonl(tmp_path):
    rows = [
        {"id": i, "hyps": [{"text": text, "logprob": p} for text, p in zip(texts, LOGPROBS[i], strict=True)]}
        for i, texts in enumerate(LISTS)
    ]
    path = tmp_path / "lists.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def flat(tmp_path):
    path = tmp_path / "lists.txt"
    path.write_text("".join(f"{text}\n" for texts in LISTS for text in texts), encoding="utf-8")
    (tmp_path / "counts").write_text("4\n3\n", encoding="utf-8")
    return ["--candidates", path, "--format", "flat", "--format-option", f"counts={tmp_path / 'counts'}"]


def value(result, name):
    (row,) = [line for line in result.err.splitlines() if line.startswith(name)]
    return float(row.removeprefix(name).split()[-1])


def test_the_candidate_that_agrees_most_is_chosen(dragoman, jsonl):
    result = dragoman("mbr", "--candidates", jsonl)
    assert result.code == 0, result.err
    assert result.out == "the cat sat down\nwe see the sea\n"
    assert value(result, "sentences whose choice is not the first candidate") == 1
    assert value(result, "expected bleu, chosen") > value(result, "expected bleu, first")
    sharp = dragoman("mbr", "--candidates", jsonl, "--scale", "100")
    assert sharp.out == "a dog sat down\nwe see the sea\n"


@pytest.mark.parametrize("metric", ["chrf", "ter", "bleu", "bleu-ter"])
def test_any_metric_is_a_gain_and_plain_text_will_do(dragoman, flat, metric):
    result = dragoman("mbr", *flat, "--weights-from", "uniform", "--metric", metric)
    assert result.code == 0, result.err
    assert result.out.splitlines()[0] == "the cat sat down"


def test_weights_from_a_file(dragoman, flat, tmp_path):
    (tmp_path / "weights").write_text("0\n0\n3\n0\n1\n1\n5\n", encoding="utf-8")
    result = dragoman("mbr", *flat, "--weights", tmp_path / "weights")
    assert result.code == 0, result.err
    assert result.out == "a dog sat down\nthey hear\n"


def test_evidence_apart_and_the_utility_matrix(dragoman, jsonl, tmp_path):
    evidence = tmp_path / "evidence.txt"
    evidence.write_text("a dog sat down\na dog sat\nthey hear it\nthey hear\n", encoding="utf-8")
    matrix, out = tmp_path / "gains.npz", tmp_path / "out.gz"
    arguments = ["--evidence", evidence, "--evidence-format", "flat", "--evidence-format-option", "size=2"]
    settings = ["--weights-from", "uniform", "--utility-matrix", matrix]
    result = dragoman("mbr", "--candidates", jsonl, *arguments, *settings)
    assert result.code == 0, result.err
    assert result.out == "a dog sat down\nthey hear\n"
    with np.load(matrix) as arrays:
        assert arrays["hypothesis_sentences"].tolist() == [0, 3, 6]
        assert arrays["hypothesis_rows"].tolist() == [0, 1, 2, 4, 5, 6]
        assert arrays["evidence_sentences"].tolist() == [0, 2, 4]
        assert arrays["evidence_probabilities"].tolist() == [0.5] * 4
        first = arrays["gains"][:6].reshape(3, 2)
        np.testing.assert_allclose(first.mean(axis=1), arrays["expected"][:3], rtol=1e-6)
        assert first[2, 0] == pytest.approx(100)
    again = dragoman("mbr", "--candidates", jsonl, *arguments, *settings, "--out", out)
    assert (again.code, again.out) == (0, "")
    assert out.exists()


def test_a_picture_of_the_first_posterior(dragoman, jsonl, tmp_path):
    result = dragoman("mbr", "--candidates", jsonl, "--picture", tmp_path / "first.svg")
    assert result.code == 0, result.err
    assert (tmp_path / "first.svg").read_text(encoding="utf-8").startswith("<svg")


def test_bad_input_is_one_sentence(dragoman, jsonl, flat, tmp_path):
    def error(*arguments):
        result = dragoman("mbr", *arguments)
        assert result.code in (1, 2)
        assert result.out == ""
        return result.error

    assert "lists.txt: has neither log-probabilities nor scores; expected them" in error(*flat)
    assert error("--candidates", jsonl, "--scale", "0") == "scale is 0; expected more than 0"
    assert error("--candidates", jsonl, "--scale", "-2") == "scale is -2; expected more than 0"
    assert "scale is nan" in error("--candidates", jsonl, "--scale", "nan")
    assert "no metric is called 'blue'" in error("--candidates", jsonl, "--metric", "blue")
    (tmp_path / "empty").write_text("", encoding="utf-8")
    assert "empty: the file is empty" in error("--candidates", tmp_path / "empty")
    (tmp_path / "one.txt").write_text("a\nb\n", encoding="utf-8")
    apart = ["--evidence", tmp_path / "one.txt", "--evidence-format", "flat", "--evidence-format-option", "size=2"]
    assert "one.txt: has 1 sentences, but" in error("--candidates", jsonl, *apart)
    uneven = ["--candidates", flat[1], "--format", "flat", "--format-option", "size=2", "--weights-from", "uniform"]
    assert "lists.txt" in error(*uneven)
    (tmp_path / "weights").write_text("1\n" * 6, encoding="utf-8")
    assert "has 6 numbers, but" in error(*flat, "--weights", tmp_path / "weights")
    (tmp_path / "weights").write_text("1\n" * 6 + "nan\n", encoding="utf-8")
    assert "weights:7: found nan; expected a weight" in error(*flat, "--weights", tmp_path / "weights")
    assert "give one or the other" in error(*flat, "--weights", tmp_path / "weights", "--scale", "2")
    (tmp_path / "weights").write_text("1\n" * 4 + "0\n" * 3, encoding="utf-8")
    assert "all hypotheses of sentence 1 have probability 0" in error(*flat, "--weights", tmp_path / "weights")


def test_utilities_that_were_made_elsewhere_take_the_place_of_a_metric(dragoman, jsonl, tmp_path):
    matrix, names = tmp_path / "gains.npz", ["--candidates", jsonl]
    usual = dragoman("mbr", *names, "--utility-matrix", matrix)
    again = dragoman("mbr", *names, "--utility-matrix-in", matrix)
    assert (again.code, again.out) == (0, usual.out)
    with np.load(matrix) as arrays:
        other = {**arrays, "gains": -arrays["gains"], "expected": -arrays["expected"]}
    np.savez(matrix, **other)
    assert dragoman("mbr", *names, "--utility-matrix-in", matrix).out != usual.out
    both = dragoman("mbr", *names, "--utility-matrix-in", matrix, "--utility-matrix", tmp_path / "x.npz")
    assert (both.code, "give one" in both.error) == (2, True)
