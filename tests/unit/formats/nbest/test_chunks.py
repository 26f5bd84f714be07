"""Chunks that end where sentences do, whatever the size of what is read, and as soon as sentences are whole."""

import itertools
import subprocess
import sys

import pytest

from dragoman.formats.nbest import chunks
from dragoman.formats.nbest.chunks import chunks_by_number, chunks_by_size

LINES = ["0 ||| a", "0 ||| b b b b b", "1 ||| c", "02 ||| d", "2 ||| e e", "2||| f", "3 ||| g"]


def written(tmp_path, lines):
    path = tmp_path / "lists"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("size", [1, 9, 20, 41, 1000])
def test_a_number_is_never_cut(tmp_path, monkeypatch, size):
    monkeypatch.setattr(chunks, "BLOCK_BYTES", size)
    shares = []
    found = [*chunks_by_number(written(tmp_path, LINES), b"|||", shares.append)]
    assert [line for chunk in found for line in chunk.lines()] == LINES
    assert shares[-1] == 1
    numbers = [{int(line.partition("|||")[0]) for line in chunk.lines()} for chunk in found]
    assert all(max(a) < min(b) for a, b in itertools.pairwise(numbers))
    if size < 41:
        assert len(found) > 1
    for chunk in found:
        assert LINES[chunk.first_line - 1] == chunk.lines()[0]


@pytest.mark.parametrize("size", [1, 9, 20, 41, 1000])
def test_sentences_of_one_size_are_never_cut(tmp_path, monkeypatch, size):
    monkeypatch.setattr(chunks, "BLOCK_BYTES", size)
    found = [*chunks_by_size(written(tmp_path, LINES[:6]), 2, None)]
    assert [line for chunk in found for line in chunk.lines()] == LINES[:6]
    assert all(len(chunk.lines()) % 2 == 0 for chunk in found)
    assert [LINES[chunk.first_line - 1] for chunk in found] == [chunk.lines()[0] for chunk in found]


def test_what_is_left_at_the_end_comes_with_the_sentences_before_it(tmp_path):
    (found,) = chunks_by_size(written(tmp_path, LINES), 3, None)
    assert found.lines() == LINES
    assert [*chunks_by_size(written(tmp_path, []), 3, None)] == []


@pytest.mark.parametrize(
    ("call", "more"), [("chunks_by_number('-', b'|', None)", b"1|b\n"), ("chunks_by_size('-', 2, None)", b"")]
)
def test_sentences_that_are_whole_do_not_wait(call, more):
    code = f"from dragoman.formats.nbest.chunks import *\nfor chunk in {call}: print(chunk.lines(), flush=True)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b"0|a\n0|a\n" + more)
        process.stdin.flush()
        assert process.stdout.readline() == b"['0|a', '0|a']\n"
        process.stdin.close()
        assert process.wait(20) == 0
