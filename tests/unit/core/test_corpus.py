import gzip

import numpy as np
import pytest

from dragoman.core import corpus as corpus_module
from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError
from dragoman.core.files import read_chunks


def test_words_are_separated_by_ascii_white_space_alone(tmp_path):
    path = tmp_path / "text"
    path.write_bytes("\ufeff a\tb\u00a0c  d\u2028e\r\n\nlast\x00word".encode())
    corpus = Corpus.read(path)
    assert corpus.lines() == ["a b\u00a0c d\u2028e", "", "last\x00word"]
    assert corpus.sentences.lengths.tolist() == [3, 0, 1]
    assert corpus.words == 4


def test_an_empty_file_is_an_empty_corpus(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"")
    corpus = Corpus.read(path)
    assert (len(corpus), corpus.words, corpus.lines()) == (0, 0, [])
    assert corpus.sentences.values.dtype == np.int32


def test_reading_in_chunks_is_reading_at_once(tmp_path, monkeypatch):
    lines = [" ".join(f"w{n * k % 17}" for k in range(n % 5)) for n in range(200)]
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    whole = Corpus.read(path)
    monkeypatch.setattr(corpus_module, "read_chunks", lambda path: read_chunks(path, 64))
    pieces = Corpus.read(path)
    assert whole.lines() == pieces.lines() == lines
    np.testing.assert_array_equal(whole.sentences.values, pieces.sentences.values)
    np.testing.assert_array_equal(whole.sentences.offsets, pieces.sentences.offsets)
    np.testing.assert_array_equal(whole.vocab.blob, pieces.vocab.blob)


def test_a_given_vocabulary_grows():
    first = Corpus.from_lines(["a b"])
    second = Corpus.from_lines(["b c"], first.vocab)
    assert second.sentences[0].tolist() == [4, 5]
    assert list(second.vocab)[3:] == ["a", "b", "c"]


def test_take_and_line():
    corpus = Corpus.from_lines(["a b", "", "c"])
    assert corpus.take(np.array([2, 0, 2])).lines() == ["c", "a b", "c"]
    assert corpus.line(0) == "a b"


def test_sides_of_different_length_are_refused(tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("a\n")
    with pytest.raises(DataError, match=r"t: has 1 lines, but .*s has 2; expected as many as the source"):
        Bitext.read(tmp_path / "s", tmp_path / "t")
    with pytest.raises(DataError, match="the source has 1 lines and the target 0"):
        Bitext(Corpus.from_lines(["a"]), Corpus.from_lines([]))


def test_bitext_take(tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("x\ny")
    pairs = Bitext.read(tmp_path / "s", tmp_path / "t").take(np.array([1]))
    assert (len(pairs), pairs.source.lines(), pairs.target.lines()) == (1, ["b"], ["y"])


@pytest.mark.parametrize(
    ("line", "message"), [("a\nb", "sentence 1 holds a line break"), ("a \ud800", "sentence 1 holds half a character")]
)
def test_strings_that_are_no_line_are_refused(line, message):
    with pytest.raises(DataError, match=message):
        Corpus.from_lines(["fine", line, "fine"])
