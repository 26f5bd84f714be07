import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.formats.nbest.flat import FlatNBest


@pytest.fixture
def files(tmp_path):
    def make(**contents):
        for name, text in contents.items():
            (tmp_path / name).write_text(text)
        return {name: tmp_path / name for name in contents if name != "text"}

    make.path = tmp_path / "text"
    return make


def contents(nbest):
    return [[nbest.list(i).line(h) for h in range(len(nbest.list(i).hypotheses))] for i in range(len(nbest))]


def test_the_ways_to_say_what_belongs_together(files):
    files(text="a\nb\n\nd\n")
    with pytest.warns(DragomanWarning, match="1 of 4 hypotheses have no words"):
        assert contents(FlatNBest(size=2).read(files.path)) == [["a", "b"], ["", "d"]]
    options = files(text="a\nb\nc\n", counts="1\n0\n2\n")
    assert contents(FlatNBest(**options).read(files.path)) == [["a"], [], ["b", "c"]]
    options = files(ids="3\n7\n7\n")
    with pytest.warns(DragomanWarning, match="6 sentences have no hypotheses"):
        nbest = FlatNBest(**options).read(files.path)
    assert nbest.ids == (3, 7)
    assert contents(nbest) == [["a"], ["b", "c"]]
    files(text="a\nb\n\nc\n")
    assert contents(FlatNBest().read(files.path, sentences=2)) == [["a", "b"], ["c"]]


def test_scores_and_features(files, tmp_path):
    options = files(text="a\nb\n", scores="-1.5\n2\n")
    assert FlatNBest(size=1, **options).read(files.path).scores.tolist() == [-1.5, 2]
    table = "score\tlogprob\tlm\tlength of it\n-1\t-2\t0\t4\n0.5\t-7\t1e-05\t5\n"
    options = files(scores=table)
    nbest = FlatNBest(size=2, **options).read(files.path)
    assert nbest.scores.tolist() == [-1, 0.5]
    assert nbest.logprobs.tolist() == [-2, -7]
    assert nbest.features.row(1) == {"lm": 1e-05, "length of it": 5}
    FlatNBest(size=2, scores=tmp_path / "again", counts=None).write(tmp_path / "out", nbest)
    assert (tmp_path / "again").read_text() == table
    files(scores="lm\n1\n2\n")
    nbest = FlatNBest(size=2, **options).read(files.path)
    assert np.isnan(nbest.scores).all()
    assert nbest.features.names == ("lm",)


def test_files_beside_are_written(files, tmp_path):
    options = files(text="a\nb\nc\n", ids="0\n1000000\n1000000\n")
    with pytest.warns(DragomanWarning, match="999999 sentences"):
        nbest = FlatNBest(**options).read(files.path)
    FlatNBest(ids=tmp_path / "ids2").write(tmp_path / "out", nbest)
    assert (tmp_path / "ids2").read_text() == "0\n1000000\n1000000\n"
    FlatNBest(counts=tmp_path / "counts2").write(tmp_path / "out", nbest)
    assert (tmp_path / "counts2").read_text() == "1\n2\n"


@pytest.mark.parametrize(
    ("size", "contents", "sentence"),
    [
        (2, {}, "text: has 3 lines; expected 2 for each sentence"),
        (None, {"counts": "1\n1\n"}, "text: has 3 lines; expected 2, the sum of what"),
        (None, {"counts": "1\n1.5\n"}, "counts:2: found 1.5; expected an integer that is not negative"),
        (None, {"counts": "a\n1.5\n"}, "counts:1: found 'a'; expected a number"),
        (None, {"ids": "0\n0\n"}, "ids: has 2 lines, but"),
        (None, {"ids": "0\n1\n0\n"}, "ids:3: the id 0 comes again after the id 1"),
        (3, {"scores": "1\n2\n"}, "scores: has the scores of 2 hypotheses, but"),
        (3, {"scores": "1\nx\n2\n"}, "scores:2: found 'x'; expected a number in each column"),
        (3, {"scores": "a\tb\n1\t2\n2\t3\n1\n"}, "scores:4: found '1'; expected as many columns as on the first line"),
        (3, {"scores": "a\n1\nnan\n2\n"}, "scores:3: found 'nan'; expected a finite number"),
        (3, {"scores": "a\ta\n"}, "scores:1: found a name that is empty or there twice"),
        (3, {"scores": "1\t2\n"}, "scores:1: found 2 numbers; expected a line of names above the columns"),
    ],
)
def test_what_is_wrong_is_said(files, size, contents, sentence):
    options = files(text="a\nb\nc\n", **contents)
    with pytest.raises(DataError) as error:
        FlatNBest(size=size, **options).read(files.path)
    assert sentence in str(error.value)


def test_lists_that_do_not_fit(files, tmp_path):
    files(text="a\nb\nc\n")
    with pytest.warns(DragomanWarning, match="there is no empty line, so all 3 lines belong to one sentence"):
        nbest = FlatNBest().read(files.path)
    with pytest.raises(DataError, match="has the hypotheses of 1 sentences; expected 3"), pytest.warns(DragomanWarning):
        FlatNBest().read(files.path, sentences=3)
    with pytest.raises(DataError, match="list 1 to write has 3 hypotheses; expected 2"):
        FlatNBest(size=2).write(tmp_path / "out", nbest)
    with pytest.raises(DataError, match="neither scores nor features"):
        FlatNBest(scores=tmp_path / "scores").write(tmp_path / "out", nbest)
    with pytest.raises(UsageError, match="size and ids both say which hypotheses belong together"):
        FlatNBest(size=2, ids=tmp_path / "ids")
    files(text="a\n\n")
    with pytest.warns(DragomanWarning, match="1 of 2 hypotheses have no words"):
        nbest = FlatNBest(size=1).read(files.path)
    with pytest.raises(DataError, match="a hypothesis to write has no words, which would end its list"):
        FlatNBest().write(tmp_path / "out", nbest)
