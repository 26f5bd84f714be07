import pytest

from dragoman.core.errors import DataError
from dragoman.normalisation.examples import Examples
from dragoman.normalisation.lexicon import Memory


def test_memory_on_disk_is_the_same(tmp_path):
    memory = Memory.of(Examples.of([("b", "x"), ("a", "z"), ("a", "y"), ("a", "y"), ("c d", "e f")]))
    memory.save(tmp_path / "m.tsv")
    assert Memory.load(tmp_path / "m.tsv").counts == memory.counts
    (tmp_path / "m.tsv").write_text("a\tb\t1\na\tb\n")
    with pytest.raises(DataError, match=r"m\.tsv:2: found 'a.b'; expected two forms and a count"):
        Memory.load(tmp_path / "m.tsv")


def test_the_best_form_is_the_most_frequent_and_else_the_word_itself():
    memory = Memory.of(Examples.of([("a", "z"), ("a", "y"), ("a", "y"), ("b", "d"), ("b", "c")]))
    assert [memory.best(word) for word in "abx"] == ["y", "c", "x"]
    assert (memory.share("a", "y"), memory.share("x", "x")) == (0.5, 0.0)


def test_forms_with_the_same_skeleton_share_what_they_became():
    memory = Memory.of(Examples.of([("vnd", "und"), ("vnnd", "und"), ("vn\u0303d", "vnd"), ("jn", "in")]))
    assert memory.alike == {"vnd": {"und": 2, "vnd": 1}, "jn": {"in": 1}}
