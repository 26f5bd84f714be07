from pathlib import Path

import pytest

from dragoman.core.errors import DataError, DragomanError, UsageError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (DataError("found x"), "found x"),
        (DataError("found x", path=Path("a.gz")), "a.gz: found x"),
        (DataError("found x", path="a.gz", line=0), "a.gz:0: found x"),
        (DataError("found x", path="a.gz", line=7, expected="y"), "a.gz:7: found x; expected y"),
        (DataError("found x", expected="y"), "found x; expected y"),
    ],
)
def test_sentences_name_what_is_known(error, text):
    assert str(error) == text


def test_every_error_has_an_exit_code():
    assert (DragomanError.exit_code, DataError("x").exit_code, UsageError("x").exit_code) == (1, 1, 2)
    assert issubclass(DataError, DragomanError)
    assert issubclass(UsageError, DragomanError)
