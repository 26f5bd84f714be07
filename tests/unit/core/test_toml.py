import math
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from dragoman.core.errors import DataError
from dragoman.core.options import format_toml, read_toml

KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | KEYS
VALUES = st.recursive(
    SCALARS | st.lists(SCALARS, max_size=3),
    lambda inner: (
        st.dictionaries(KEYS, inner, max_size=3)
        | st.lists(st.dictionaries(KEYS, inner, max_size=2), min_size=1, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_what_is_written_is_read_again(values):
    assert tomllib.loads(format_toml(values)) == values


def test_numbers_keep_their_kind_and_value():
    values = {"int": 1, "float": 1.0, "tiny": 1e-300, "third": 1 / 3, "huge": 1e22, "inf": math.inf, "yes": True}
    text = format_toml(values)
    read = tomllib.loads(text)
    assert read == values
    assert {key: type(value) for key, value in read.items()} == {key: type(value) for key, value in values.items()}
    assert math.isnan(tomllib.loads(format_toml({"x": math.nan}))["x"])


def test_paths_and_tuples_are_strings_and_arrays():
    assert tomllib.loads(format_toml({"a": Path("b/c"), "t": (1, 2)})) == {"a": "b/c", "t": [1, 2]}


def test_tables_come_after_plain_values():
    values = {"table": {"x": 1}, "plain": 2, "inner": {"deep": {"y": [{"z": 1}, {"z": 2}]}, "w": 3}}
    assert tomllib.loads(format_toml(values)) == values


def test_what_toml_cannot_hold():
    with pytest.raises(TypeError, match="cannot write a NoneType as TOML"):
        format_toml({"x": None})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a = 1\nb = [\n", "is not TOML (Invalid value (at end of document))"),
        (b"a = \xff\n", "is not UTF-8; expected a TOML file"),
    ],
)
def test_files_that_are_no_toml(tmp_path, data, message):
    (tmp_path / "x.toml").write_bytes(data)
    with pytest.raises(DataError) as error:
        read_toml(tmp_path / "x.toml")
    assert str(error.value) == f"{tmp_path}/x.toml: {message}"


def test_files_that_are_not_there(tmp_path):
    for path, reason in ((tmp_path / "x.toml", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(DataError) as error:
            read_toml(path)
        assert str(error.value) == f"{path}: cannot be read ({reason})"
