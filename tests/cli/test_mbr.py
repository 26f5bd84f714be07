"""`dragoman mbr`: anybody's candidates, evidence apart, weights of all sorts, and what is wrong with files."""

import gzip
import json
import subprocess

import numpy as np
import pytest

import dragoman as dm
from dragoman.cli import mbr as mbr_command
from dragoman.formats.nbest import chunks

pytestmark = pytest.mark.slow

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
    result = dragoman("mbr", *flat, "--weights-from", "uniform", "--utility", metric)
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
    assert "no metric is called 'blue'" in error("--candidates", jsonl, "--utility", "blue")
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
    assert "all hypotheses of sentence 2 have probability 0" in error(*flat, "--weights", tmp_path / "weights")


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


@pytest.fixture
def moses(tmp_path):
    """Forty lists, some of which have no words or an equal candidate, in Moses' format."""
    rng = np.random.default_rng(5)
    path = tmp_path / "lists.nbest"
    with path.open("w", encoding="utf-8") as stream:
        for i in range(40):
            for _ in range(rng.integers(1, 7)):
                words = " ".join(f"w{word}" for word in rng.integers(0, 4, rng.integers(0, 6)))
                stream.write(f"{2 * i} ||| {words} ||| lm= {i} ||| {-rng.random():.4f}\n")
    return path


def said(result):
    """What was said, but for how long it took."""
    return [line for line in result.err.splitlines() if not line.endswith(" s")]


@pytest.mark.parametrize("name", ["lists.nbest", "lists.jsonl", "lists.nbest.gz"])
def test_blocks_of_any_size_are_decided_as_all_at_once(dragoman, moses, jsonl, tmp_path, monkeypatch, name):
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(moses.read_bytes()))
    whole = dragoman("mbr", "--candidates", path, "--utility-matrix", tmp_path / "gains.npz")
    assert whole.code == 0, whole.err
    for size in (1, 100, 500, 1 << 20):
        monkeypatch.setattr(chunks, "BLOCK_BYTES", size)
        found = dragoman("mbr", "--candidates", path)
        assert (found.code, found.out) == (0, whole.out)
        assert sorted(said(found)) == sorted(said(whole))
        picture = dragoman("mbr", "--candidates", path, "--out", tmp_path / "out", "--picture", tmp_path / "first.svg")
        assert picture.code == 0
        assert (tmp_path / "out").read_text(encoding="utf-8") == whole.out


def test_lists_are_read_as_they_are_decided(dragoman, moses, monkeypatch):
    monkeypatch.setattr(chunks, "BLOCK_BYTES", 200)
    read, decided = [], []
    chunk_read, added = chunks.prompt_chunks, mbr_command.MbrReport.add

    def counted(path, done):
        for chunk in chunk_read(path, done):
            read.append(chunk)
            yield chunk

    def counting(self, one):
        decided.append(len(read))
        added(self, one)

    monkeypatch.setattr(chunks, "prompt_chunks", counted)
    monkeypatch.setattr(mbr_command.MbrReport, "add", counting)
    assert dragoman("mbr", "--candidates", moses).code == 0
    assert len(decided) > 10
    assert all(ahead <= i + 2 for i, ahead in enumerate(decided))


def test_a_pipe_that_stays_open_gets_what_is_whole(command):
    arguments = ["mbr", "--candidates", "-", "--format", "moses"]
    lines = [f"{i} ||| {words} ||| ||| -1\n".encode() for i, words in enumerate(["a b", "c", "d"])]
    with subprocess.Popen([command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for i, expected in ((0, b"a b\n"), (1, b"c\n")):
            process.stdin.write(lines[i] * 2 + lines[i + 1])
            process.stdin.flush()
            assert process.stdout.readline() == expected
            lines[i + 1] = b""
        process.stdin.close()
        assert process.stdout.read() == b"d\n"
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"50 |||", b"50 ||", "found '50 || "),
        (b"lm= 25", b"lm= x", "found 'x' among the features; expected a number"),
        (b"||| -0.", b"||| nan -0.", "found 'nan -0."),
        (b"||| -0.", b"||| -inf0.", "as the score"),
        (b"50 |||", b"20 |||", "the id 20 comes again after the id 48"),
        (b"50 |||", b"21 |||", "the id 21 comes after the id 48"),
        (b"50 |||", b"\xff", "byte 0xff is not UTF-8"),
    ],
)
def test_what_is_wrong_in_the_middle_is_said_with_its_line(dragoman, moses, tmp_path, monkeypatch, old, new, message):
    rows = moses.read_bytes().split(b"\n")
    line = next(i for i, row in enumerate(rows) if row.startswith(b"50 "))
    moses.write_bytes(b"\n".join([*rows[:line], rows[line].replace(old, new, 1), *rows[line + 1 :]]))
    (tmp_path / "out").write_text("old\n", encoding="utf-8")
    before = {path.name for path in tmp_path.iterdir()}
    command = ["mbr", "--candidates", moses, "--format", "moses", "--out", tmp_path / "out"]
    whole = dragoman(*command, "--utility-matrix", tmp_path / "gains.npz")
    assert whole.error.startswith(f"{moses}:{line + 1}: ")
    assert message in whole.error
    for size in (1, 100, 1 << 20):
        monkeypatch.setattr(chunks, "BLOCK_BYTES", size)
        found = dragoman(*command)
        assert (found.code, found.error) == (1, whole.error)
        assert (tmp_path / "out").read_text(encoding="utf-8") == "old\n"
        assert {path.name for path in tmp_path.iterdir()} == before


def test_a_file_that_is_cut_off_is_no_shorter_file(dragoman, moses, tmp_path, monkeypatch):
    data = gzip.compress(moses.read_bytes())
    (tmp_path / "cut.gz").write_bytes(data[: len(data) * 2 // 3])
    messages = set()
    for size in (1, 100, 1 << 20):
        monkeypatch.setattr(chunks, "BLOCK_BYTES", size)
        found = dragoman("mbr", "--candidates", tmp_path / "cut.gz", "--format", "moses", "--out", tmp_path / "out")
        assert (found.code, (tmp_path / "out").exists()) == (1, False)
        messages.add(found.error)
    (message,) = messages
    assert "the compressed data is damaged or cut off" in message
    assert message.startswith(f"{tmp_path / 'cut.gz'}:")


def test_evidence_in_another_order(dragoman, moses, tmp_path, monkeypatch):
    """Also with weights, which are those of the evidence's lines as they stand in its file."""
    rng = np.random.default_rng(8)
    rows = [
        {
            "id": 2 * i,
            "hyps": [{"text": f"w{rng.integers(0, 4)} w{rng.integers(0, 4)}", "score": -1.0} for _ in range(3)],
        }
        for i in range(40)
    ]
    given = rng.random((40, 3)).round(3)
    outputs = set()
    for order in (range(40), [*range(10), *range(39, 9, -1)]):
        lines = "".join(json.dumps(rows[i]) + "\n" for i in order)
        (tmp_path / "evidence.jsonl").write_text(lines, encoding="utf-8")
        (tmp_path / "weights").write_text("".join(f"{x}\n" for i in order for x in given[i]), encoding="utf-8")
        arguments = ["mbr", "--candidates", moses, "--evidence", tmp_path / "evidence.jsonl"]
        arguments += ["--evidence-format", "jsonl", "--utility", "chrf"]
        for size in (1, 300, 1 << 20):
            monkeypatch.setattr(chunks, "BLOCK_BYTES", size)
            outputs.add(("unweighted", dragoman(*arguments).out))
        outputs.add(("weighted", dragoman(*arguments, "--weights", tmp_path / "weights").out))
    assert len(outputs) == 2
    assert all(len(out.splitlines()) == 40 for _, out in outputs)


class TestConfidence:
    """`--resamples`: how often resampled evidence leads to the same choice."""

    def rated(self, dragoman, tmp_path, *flags):
        out = tmp_path / "rated.jsonl"
        result = dragoman("mbr", "--lists-out", out, "--resamples", "300", "--utility", "chrf", *flags)
        assert result.code == 0, result.err
        rows = [json.loads(line)["hyps"] for line in out.read_text().splitlines()]
        found = [{one["text"]: one["features"]["confidence"] for one in row} for row in rows]
        first = sum(row[0]["features"]["confidence"] for row in rows) / len(rows)
        assert value(result, "mean confidence of the choices") == pytest.approx(100 * first, abs=0.01)
        return found

    def test_lists_have_it_and_python_has_the_same(self, dragoman, jsonl, tmp_path):
        found = self.rated(dragoman, tmp_path, "--candidates", jsonl)
        assert [sum(row.values()) for row in found] == pytest.approx([1, 1])
        chosen = dm.mbr(jsonl, utility="chrf", resamples=300)
        assert [found[s][text] for s, text in enumerate(chosen)] == chosen.confidences.tolist()

    def test_blocks_and_sources_of_utilities_do_not_matter(self, dragoman, jsonl, tmp_path, monkeypatch):
        whole = dragoman("mbr", "--candidates", jsonl, "--utility", "chrf", "--resamples", "300")
        monkeypatch.setattr(chunks, "BLOCK_BYTES", 1)
        cut = dragoman("mbr", "--candidates", jsonl, "--utility", "chrf", "--resamples", "300")
        assert value(cut, "mean confidence of the choices") == value(whole, "mean confidence of the choices")
        matrix = tmp_path / "u.npz"
        first = self.rated(dragoman, tmp_path, "--candidates", jsonl, "--utility-matrix", matrix)
        assert self.rated(dragoman, tmp_path, "--candidates", jsonl, "--utility-matrix-in", matrix) == first
        assert self.rated(dragoman, tmp_path, "--candidates", jsonl, "--check", "1") == first

    def test_estimators_are_refused(self, dragoman, jsonl):
        result = dragoman("mbr", "--candidates", jsonl, "--resamples", "9", "--estimator", "pruned")
        assert result.code == 2
        assert "needs all utilities, which pruned does not compute" in result.err
