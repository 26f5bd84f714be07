"""`dragoman sample-curves`: a page and numbers, the same on any number of threads."""

import pytest

pytestmark = pytest.mark.slow


def test_a_page_and_numbers(dragoman, model, toy, tmp_path, csv_rows):
    toy.write(tmp_path, dev=slice(4))
    texts = ["--source", tmp_path / "dev.s", "--reference", tmp_path / "dev.t", "--prepared"]
    options = ["--samples", 120, "--chains", 2, "--ranked", 1, "--ranked-words", 6, "--table-limit", 4]
    results = {
        threads: dragoman("sample-curves", "--model", model, *texts, *options, "--threads", threads, "--out", out)
        for threads, out in ((1, tmp_path / "out1"), (2, tmp_path / "out2"))
    }
    assert results[1].code == 0, results[1].err
    assert "By number of samples" in results[1].out
    assert "Samples after which decisions change no more" in results[1].out
    assert results[1].out == results[2].out
    for name in ("report.html", "sample-curves.csv"):
        assert (tmp_path / "out1" / name).read_bytes() == (tmp_path / "out2" / name).read_bytes()
    assert "Exact probabilities by sampled rank" in (tmp_path / "out1" / "report.html").read_text(encoding="utf-8")
    rows = csv_rows(tmp_path / "out1" / "sample-curves.csv")
    assert {row["samples"] for row in rows} == {"100", "200", "240"}
    assert {row["initial"] for row in rows} == {"beam", "random"}
    again = dragoman("sample-curves", "--model", model, *texts, *options, "--out", tmp_path / "out1")
    assert "exists" in again.error
    forced = dragoman("sample-curves", "--model", model, *texts, *options, "--force", "--out", tmp_path / "out1")
    assert forced.code == 0, forced.err


def test_other_references_than_sentences_are_refused(dragoman, model, toy, tmp_path):
    toy.write(tmp_path, dev=slice(4), other=slice(3))
    result = dragoman(
        "sample-curves", "--model", model, "--source", tmp_path / "dev.s", "--reference", tmp_path / "other.t",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert "has 3 lines, but" in result.error
