"""What stays whole."""

import time

import pytest

from dragoman.text.tokenise import Tokeniser, detokenise_lines, is_protected, protected_spans, tokenise_lines


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("See http://example.org/x?y=1.", ["http://example.org/x?y=1"]),
        ("(www.example.org), ftp://a.b/c", ["www.example.org", "ftp://a.b/c"]),
        ("Ask ann.lee+x@mail.example.org!", ["ann.lee+x@mail.example.org"]),
        ("3,000.50 men at 10:30, 1/2 of 12/31/2020; 5", ["3,000.50", "10:30", "1/2", "12/31/2020"]),
        ("example.org/x, /usr/share/doc and ~/a/b.txt", ["example.org/x", "/usr/share/doc", "~/a/b.txt"]),
        ("#tag @name file_name.txt a&#b", ["#tag", "@name", "file_name.txt"]),
        ("and/or he.He end. 3, 4", []),
        ("詳しくはhttp://example.org/xを見て3,000円", ["http://example.org/x", "3,000"]),
    ],
)
def test_addresses_and_numbers_are_found(line, whole):
    assert [line[begin:end] for begin, end in protected_spans(line)] == whole
    tokens = tokenise_lines([line], "en", Tokeniser(protect=True))[0].split()
    assert set(whole) <= set(tokens)
    assert all(map(is_protected, whole))


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", [".", "a@", "/a", "http://", "1,", "a.", "_", "a_", "#a", '"', "'", "\u2014", " ", "￭"]
)
def test_long_runs_take_no_time(unit):
    line = unit * (100_000 // len(unit)) + "x"
    start = time.process_time()
    (tokens,) = tokenise_lines([line], "en", Tokeniser(protect=True, marks=True, normalise_punctuation=True))
    detokenise_lines([tokens], "en")
    assert time.process_time() - start < 5  # with the square of the length it would be minutes
