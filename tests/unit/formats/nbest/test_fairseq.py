"""What fairseq prints: which lines are taken, what scores mean, and what is said of lines that are not fairseq's."""

import math
from pathlib import Path

import pytest

from dragoman.core.errors import DataError
from dragoman.formats.nbest.fairseq import FairseqNBest

SAMPLE = Path(__file__).parent / "samples" / "fairseq.txt"


def test_sentences_are_sorted_and_lines_belong_together():
    nbest = FairseqNBest().read(SAMPLE, sentences=2)
    assert nbest.texts() == ["a house", "the house", "yes"]
    assert nbest.sentences.tolist() == [0, 2, 3]
    assert nbest.sources == ("la maison", "oui")
    assert nbest.references == (("the house",), ("yes .",))
    assert nbest.scores.tolist() == [-0.5, -0.75, -0.25]
    assert nbest.logprobs == pytest.approx([-1.5 * math.log(2), -2.25 * math.log(2), -0.75 * math.log(2)])


def test_options():
    assert FairseqNBest(text="H").read(SAMPLE).texts() == ["a house", "the house", "ye@@ s"]
    assert FairseqNBest(base="e").read(SAMPLE).logprobs.tolist() == [-1.5, -2.25, -0.75]


def test_tokens_and_positions_are_written_back(tmp_path):
    nbest = FairseqNBest().read(SAMPLE)
    FairseqNBest().write(tmp_path / "out", nbest)
    written = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    kept = [line for line in SAMPLE.read_text(encoding="utf-8").splitlines() if line[:2] in ("S-", "T-", "H-", "D-")]
    assert [line for line in written if line[0] != "P"] == kept[4:] + kept[:4]
    assert "P-1\t-0.5000 -0.2500 0.0000" in written
    FairseqNBest(base="e").write(tmp_path / "out", nbest)
    assert FairseqNBest(base="e").read(tmp_path / "out").logprobs == pytest.approx(nbest.logprobs)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("H-0\t-0.5\ta\nsome words\n", "2: found 'some words'; expected 'H-id<TAB>score<TAB>text', or another line"),
        ("H-0\t-0.5\n", "1: found '-0.5'; expected 'H-id<TAB>score<TAB>text'"),
        ("H-0\tbad\ta\n", "1: found 'bad' as the score; expected a finite number"),
        ("H-0\t-inf\ta\n", "1: found '-inf' as the score; expected a finite number"),
        ("H-0\t-1\ta\nP-0\t-1 x\n", "2: found 'x' as the score of a position; expected a finite number"),
        ("P-0\t-1\nH-0\t-1\ta\n", "1: found scores of positions that belong to no hypothesis before them"),
        ("H-0\t-1\ta\nH-0\t-1\tb\nP-0\t-1\nP-0\t-2\n", "4: found scores of positions that belong to no hypothesis"),
        ("H-0\t-1\ta\nP-0\t-1\nH-0\t-1\tb\n", "1: the id 0 has 1 P lines for 2 hypotheses"),
        ("H-0\t-1\ta\nH-0\t-2\tb\nD-0\t-1\ta\n", "1: the id 0 has 2 H lines and 1 D lines"),
        ("D-0\t-2\tb\nD-0\t-1\ta\nH-0\t-1\ta\nH-0\t-2\tb\n", "1: the H and D lines of the id 0 have different"),
        ("S-0\ta\nS-0\tb\n", "2: found a second S line of one sentence"),
        ("S-0\ta\nH-0\t-1\ta\nH-1\t-1\ta\n", "3: a sentence has no S line; expected one for all or none"),
    ],
)
def test_what_is_wrong_is_said(text, sentence, tmp_path):
    (tmp_path / "in").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        FairseqNBest().read(tmp_path / "in")
    assert f"in:{sentence}" in str(error.value)


def test_numbers_beyond_the_sentences(tmp_path):
    (tmp_path / "in").write_text("H-5\t-1\ta\nH-0\t-1\ta\n", encoding="utf-8")
    with pytest.raises(DataError, match="in:1: found the id 5; expected 2 sentences, with ids from 0"):
        FairseqNBest().read(tmp_path / "in", sentences=2)
