import pytest
from hypothesis import given, strategies as st

from dragoman.core.errors import DataError
from dragoman.core.feature_rows import Weights

NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FFF, categories=("L", "N", "P")), min_size=1).filter(
    lambda name: not name.startswith("#") and name == "".join(name.split())
)


@given(st.dictionaries(NAMES, st.floats(allow_nan=False, allow_infinity=False), max_size=8))
def test_what_is_written_is_read_again(tmp_path_factory, values):
    file = tmp_path_factory.getbasetemp() / "weights.txt"
    Weights(values).write(file)
    read = Weights.read(file)
    assert dict(read) == values
    assert list(read) == list(values)


def test_features_without_a_weight_weigh_nothing():
    weights = Weights({"lm": 0.5})
    assert weights.vector(["x", "lm"]).tolist() == [0, 0.5]
    assert weights.vector([]).shape == (0,)
    with pytest.raises(KeyError):
        weights["x"]


def test_updating_makes_new_ones():
    weights = Weights([("a", 1), ("b", 2)])
    assert dict(weights.updated({"b": 3, "c": 4})) == {"a": 1, "b": 3, "c": 4}
    assert dict(weights) == {"a": 1, "b": 2}


def test_comments_blank_lines_and_spaces(tmp_path):
    (tmp_path / "w").write_text("# tuned\n\n  lm\t0.5  \n\n   # more\nword_penalty -1e-3\r\n")
    assert dict(Weights.read(tmp_path / "w")) == {"lm": 0.5, "word_penalty": -0.001}


def test_names_may_hold_whatever_words_hold(tmp_path):
    odd = {"wp.\xa0~a=b": 1.0, "twi.\x1c\u2028#": -2.0, "pb.::|||": 0.25}
    Weights(odd).write(tmp_path / "w")
    assert dict(Weights.read(tmp_path / "w")) == odd


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lm 0.5\nlm\n", ":2: found 'lm'; expected a feature name and a number"),
        ("lm 0.5 0.6\n", ":1: found 'lm 0.5 0.6'; expected a feature name and a number"),
        ("lm= x\n", ":1: the weight of lm= is 'x'; expected a number"),
        ("lm nan\n", ":1: the weight of lm is 'nan'; expected a number"),
        ("lm -inf\n", ":1: the weight of lm is '-inf'; expected a number"),
        ("lm 1\nx 2\nlm 1\n", ":3: the weight of lm is given twice"),
    ],
)
def test_files_that_are_no_weights(tmp_path, text, message):
    (tmp_path / "w").write_text(text)
    with pytest.raises(DataError) as error:
        Weights.read(tmp_path / "w")
    assert str(error.value) == f"{tmp_path}/w{message}"
