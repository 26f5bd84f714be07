import pytest

from dragoman.core.errors import DataError
from dragoman.formats.nbest.opennmt import OpenNmtNBest
from dragoman.formats.nbest.tsv import TsvNBest


def test_lines_with_scores(tmp_path):
    (tmp_path / "in").write_text("a b\t-0.5\nc\t-1e-05\n", encoding="utf-8")
    nbest = OpenNmtNBest(size=2).read(tmp_path / "in", sentences=1)
    assert (nbest.texts(), nbest.scores.tolist()) == (["a b", "c"], [-0.5, -1e-05])
    with pytest.raises(DataError, match=r"in: has 2 lines; expected 3 for each sentence"):
        OpenNmtNBest(size=3).read(tmp_path / "in")
    with pytest.raises(
        DataError, match="in: the lines do not say which hypotheses belong together; expected the option"
    ):
        OpenNmtNBest().read(tmp_path / "in")
    with pytest.raises(DataError, match="in: has 2 sentences; expected 5"):
        OpenNmtNBest(size=1).read(tmp_path / "in", sentences=5)
    with pytest.raises(DataError, match="list 1 to write has 2 hypotheses; expected 3"):
        OpenNmtNBest(size=3).write(tmp_path / "out", nbest)


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        (OpenNmtNBest, "a\tb\n", "1: found 'b' as the score; expected a finite number"),
        (OpenNmtNBest, "a\t-1.5\nb\n", "2: found 'b'; expected 'text<TAB>score'"),
        (OpenNmtNBest, "a\t-1.5\nb\t-inf\n", "2: found '-inf' as the score; expected a finite number"),
        (TsvNBest, "0\ta\nx\tb\n", "2: found 'x"),
        (TsvNBest, "0\ta\n0\n", "2: found '0'; expected 'id<TAB>text' or 'id<TAB>text<TAB>score'"),
        (TsvNBest, "0\ta\tb\n", "1: found 'b' as the score; expected a finite number"),
        (TsvNBest, "1\ta\n0\tb\n", "2: the id 0 comes after the id 1; expected all"),
    ],
)
def test_what_is_wrong_is_said(kind, text, sentence, tmp_path):
    (tmp_path / "in").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        kind().read(tmp_path / "in")
    assert f"in:{sentence}" in str(error.value)
