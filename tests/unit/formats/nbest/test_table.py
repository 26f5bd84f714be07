"""Tables with a header: columns by name, rows in any order, and what is said of cells that are wrong."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.progress import DragomanWarning
from dragoman.formats.nbest.table import TableNBest

SAMPLES = Path(__file__).parent / "samples"


def test_columns_are_found_by_name():
    with pytest.warns(DragomanWarning, match="the columns 'model' have text and are left out"):
        nbest = TableNBest().read(SAMPLES / "csv.csv")
    assert nbest.texts() == ['a "big", old house', "the house", "yes"]
    assert nbest.features.names == ("comet",)
    assert [nbest.features.row(h) for h in range(3)] == [{"comet": 0.75}, {"comet": 0.5}, {}]
    assert nbest.scores.tolist() == [-0.5, -0.75, -0.25]


def test_rows_of_a_sentence_come_together():
    nbest = TableNBest().read(SAMPLES / "csv.tabs.tsv")
    assert nbest.ids == (3, 7)
    assert nbest.texts() == ["yes", "the house", "a house"]
    assert nbest.logprobs.tolist() == [-0.25, -0.75, -0.5]
    assert nbest.references == (("yes .",), ("a house",))


def test_a_frame_as_pandas_writes_it(tmp_path):
    (tmp_path / "in").write_text(",sentence,rank,text,score,lm\n0,s1,1,a b,-1,0\n1,s1,2,c,-2,4.5\n", encoding="utf-8")
    nbest = TableNBest().read(tmp_path / "in")
    assert nbest.ids == ("s1",)
    assert nbest.features.names == ("lm",)
    assert nbest.features.values.tolist() == [0, 4.5]


def test_quotes_that_are_text(tmp_path):
    (tmp_path / "in").write_text('id\ttext\n0\t"yes" he said\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"in:2: found wrong quoting .*; expected quotes as in RFC 4180, or the option"):
        TableNBest().read(tmp_path / "in")
    nbest = TableNBest(quoted=False).read(tmp_path / "in")
    assert nbest.texts() == ['"yes" he said']
    TableNBest(quoted=False).write(tmp_path / "out", nbest)
    assert (tmp_path / "out").read_text(encoding="utf-8") == (tmp_path / "in").read_text(encoding="utf-8")


def test_lines_within_quotes_are_counted(tmp_path):
    (tmp_path / "in").write_text('id,text,score\n0,"a\nb",1\n0,c,x\n', encoding="utf-8")
    with pytest.raises(
        DataError, match="in:4: found 'x' as the number of the column 'score'; expected a finite number"
    ):
        TableNBest().read(tmp_path / "in")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id,words\n0,a\n", "1: the header has no column of the text; expected one called text, hypothesis"),
        ("name,text\n0,a\n", "1: the header has no column of the id; expected one called id, sentence"),
        ("id,text,mt\n0,a,b\n", "1: the columns 'text' and 'mt' are both the text; expected one column of it"),
        ("id,text,x,x\n0,a,1,2\n", "1: two columns have the same name"),
        ("id,text\n0,a\n0,b,c\n", "3: found 3 columns; expected 2, as in line 1"),
        ("id,text,x\n0,a,1\n0,b,nan\n", "3: found 'nan' as the number of the column 'x'; expected a finite number"),
        ("id,text,x\n0,a,1\n0,b,ok\n", "3: found 'ok' as the number of the column 'x'; expected a finite number"),
        ("id,text\n,a\n", "2: the sentence's id is empty; expected a number or a name"),
    ],
)
def test_what_is_wrong_is_said(text, sentence, tmp_path):
    (tmp_path / "in").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        TableNBest().read(tmp_path / "in")
    assert f"in:{sentence}" in str(error.value)


def test_the_number_of_sentences(tmp_path):
    with pytest.raises(DataError, match="has 2 sentences, which are not 0 to 1; expected 2"):
        TableNBest().read(SAMPLES / "csv.tabs.tsv", sentences=2)


def test_what_a_table_cannot_hold(tmp_path):
    nbest = TableNBest().read(SAMPLES / "csv.tabs.tsv")
    with pytest.raises(DataError, match="a feature or score to write is not finite"):
        TableNBest().write(tmp_path / "out", nbest.__class__(**{**vars(nbest), "scores": np.full(3, np.inf)}))
