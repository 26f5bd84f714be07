import gzip

import kenlm
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import read_chunks
from dragoman.core.phrases import NGrams, NGramTable
from dragoman.core.progress import DragomanWarning
from dragoman.formats import arpa
from dragoman.formats.arpa import read_arpa, write_arpa

FILE = """\
\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-1.5\t<unk>\t0
-99\t<s>\t-0.25
-0.75\t</s>
-0.5\tla\t-0.125
-inf\tmaison

\\2-grams:
-0.25\t<s> la\t0.5
-0.5\tla maison
-1\tmaison </s>

\\3-grams:
0\t<s> la maison

\\end\\
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "lm.arpa"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def assert_same(ours, theirs):
    assert list(ours.vocab) == list(theirs.vocab)
    assert ours.order == theirs.order
    for a, b in zip(ours.orders, theirs.orders, strict=True):
        np.testing.assert_array_equal(a.words, b.words)
        np.testing.assert_array_equal(a.logprobs, b.logprobs)
        np.testing.assert_array_equal(a.backoffs, b.backoffs)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_reading(write, compress):
    ngrams = read_arpa(write(compress(FILE.encode())))
    assert list(ngrams.vocab) == ["<unk>", "<s>", "</s>", "la", "maison"]
    unigrams, bigrams, trigrams = ngrams.orders
    assert unigrams.words.tolist() == [[0], [1], [2], [3], [4]]
    assert unigrams.logprobs.tolist() == [-1.5, -99, -0.75, -0.5, -np.inf]
    assert unigrams.backoffs.tolist() == [0, -0.25, 0, -0.125, 0]
    assert bigrams.words.tolist() == [[1, 3], [3, 4], [4, 2]]
    assert bigrams.backoffs.tolist() == [0.5, 0, 0]
    assert trigrams.words.tolist() == [[1, 3, 4]]
    assert (trigrams.words.dtype, trigrams.logprobs.dtype, trigrams.backoffs.dtype) == (
        np.int32,
        np.float32,
        np.float32,
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\t", " "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n\n" + text.replace("\n", "\n\n") + "\n",
        lambda text: text.removesuffix("\n"),
        lambda text: text.replace("ngram 1=5", "ngram  1 = 5"),
        lambda text: text.replace("<s> la maison", "<s> la maison\t-0.5"),
    ],
)
def test_other_ways_to_write_the_same(write, change):
    assert_same(read_arpa(write(change(FILE))), read_arpa(write(FILE)))


@pytest.mark.parametrize("chunk_bytes", [8, 40, 100])
def test_reading_in_small_chunks_is_the_same(write, monkeypatch, chunk_bytes):
    whole = read_arpa(write(FILE))
    monkeypatch.setattr(arpa, "read_chunks", lambda path: read_chunks(path, chunk_bytes))
    assert_same(read_arpa(write(FILE)), whole)


def test_words_stand_in_file_order_behind_the_special_ones(write):
    text = FILE.replace("-0.5\tla\t-0.125\n-inf\tmaison", "-inf\tmaison\n-0.5\tla\t-0.125")
    assert list(read_arpa(write(text)).vocab)[3:] == ["maison", "la"]


def test_a_given_vocabulary_grows_but_does_not_make_unigrams(write):
    ngrams = read_arpa(write(FILE), vocab=Vocab.of(["maison", "jardin"]))
    assert list(ngrams.vocab)[3:] == ["maison", "jardin", "la"]
    assert ngrams.orders[1].words.tolist() == [[1, 5], [5, 3], [3, 2]]
    with pytest.raises(DataError, match="the word 'jardin' is not among the unigrams"):
        read_arpa(write(FILE.replace("maison </s>", "jardin </s>")), vocab=Vocab.of(["maison", "jardin"]))


def test_a_model_without_unknown_word(write):
    text = FILE.replace("-1.5\t<unk>\t0\n", "").replace("ngram 1=5", "ngram 1=4")
    with pytest.warns(DragomanWarning, match="no <unk> among the unigrams"):
        ngrams = read_arpa(write(text))
    assert ngrams.orders[0].words[:, 0].tolist() == [1, 2, 3, 4]
    with pytest.raises(DataError, match="the word '<unk>' is not among the unigrams"):
        read_arpa(write(text.replace("maison </s>", "<unk> </s>")))


def test_an_order_without_ngrams(write):
    ngrams = read_arpa(write(FILE.replace("ngram 3=1", "ngram 3=0").replace("0\t<s> la maison\n", "")))
    assert ngrams.orders[2].words.shape == (0, 3)


MALFORMED = [
    ("\\data\\", "data", 1, "found 'data'; expected \\data\\"),
    ("\\data\\", "\\1-grams:", 1, "found '\\1-grams:'; expected \\data\\"),
    ("ngram 1=5\n", "", 2, "found 'ngram 2=3'; expected ngram 1=COUNT"),
    ("ngram 2=3", "ngram 2=x", 3, "found 'ngram 2=x'; expected ngram 2=COUNT"),
    ("ngram 2=3", "ngram 2=-3", 3, "found 'ngram 2=-3'; expected ngram 2=COUNT"),
    ("ngram 1=5\nngram 2=3\nngram 3=1\n", "", 3, "found '\\1-grams:'; expected ngram 1=COUNT"),
    ("ngram 1=5", "ngram 1=4", 13, "found 5 1-grams up to here; expected 4"),
    ("ngram 2=3", "ngram 2=4", 18, "found 3 2-grams up to here; expected 4"),
    ("ngram 3=1", "ngram 3=2", 21, "found 1 3-grams up to here; expected 2"),
    ("ngram 3=1", "", 18, "found '\\3-grams:'; expected \\end\\"),
    ("\\3-grams:\n0\t<s> la maison\n", "", 19, "found '\\end\\'; expected \\3-grams:"),
    ("\\2-grams:", "\\3-grams:", 13, "found '\\3-grams:'; expected \\2-grams:"),
    ("\\2-grams:", "\\2-gram", 13, "found '\\2-gram'; expected \\2-grams:"),
    ("\\1-grams:", "\\2-grams:", 6, "found '\\2-grams:'; expected \\1-grams:"),
    ("-0.5\tla\t-0.125", "-0.5", 10, "found '-0.5'; expected a log probability, as many words"),
    (
        "-0.5\tla\t-0.125",
        "-0.5\tla la\t-0.125",
        10,
        "found '-0.5\ufffdla la\ufffd-0.125'; expected a log probability",
    ),
    ("-0.5\tla\t-0.125", "x\tla\t-0.125", 10, "found 'x'; expected a number"),
    ("-0.5\tla\t-0.125", "-0.5\tla\tx", 10, "found 'x'; expected a number"),
    ("-0.5\tla\t-0.125", "nan\tla", 10, "found the log probability 'nan'; expected a number that is not positive"),
    ("-0.5\tla\t-0.125", "0.5\tla", 10, "found the log probability '0.5'; expected a number that is not positive"),
    ("-0.5\tla\t-0.125", "-0.5\tla\tnan", 10, "found the back-off weight 'nan'; expected a finite number"),
    ("-0.5\tla\t-0.125", "-0.5\tla\t-inf", 10, "found the back-off weight '-inf'; expected a finite number"),
    ("-0.5\tla\t-0.125", "-0.5\tmaison", 11, "the unigram 'maison' is there a second time"),
    ("maison </s>", "jardin </s>", 16, "the word 'jardin' is not among the unigrams"),
    ("maison </s>", "<s> la", 16, "the 2-gram '<s> la' is there a second time; expected each once"),
    ("\\end\\\n", "\\end\\\nmore\n", 22, "found 'more'; expected nothing more after \\end\\"),
    ("\\end\\\n", "\\end\\\n\\data\\\n", 22, "found '\\data\\'; expected nothing more after \\end\\"),
]


def _refusal(write, old, new, *_):
    """Return a path whose text has something else in it, and what is said about it."""
    assert old in FILE
    path = write(FILE.replace(old, new))
    with pytest.raises(DataError) as error:
        read_arpa(path)
    return path, str(error.value)


@pytest.mark.parametrize(("old", "new", "line", "message"), MALFORMED)
def test_what_is_wrong_is_named_with_its_line(write, old, new, line, message):
    path, said = _refusal(write, old, new)
    assert said.startswith(f"{path}:{line}: {message}")


def test_malformed_lines_are_named_wherever_a_chunk_ends(write, monkeypatch):
    said = [_refusal(write, *case) for case in MALFORMED]
    monkeypatch.setattr(arpa, "read_chunks", lambda path: read_chunks(path, 30))
    assert [_refusal(write, *case) for case in MALFORMED] == said


@pytest.mark.parametrize("text", ["", "\n", FILE.partition("ngram 3")[0], FILE.replace("\\end\\\n", "")])
def test_files_that_end_early(write, text):
    with pytest.raises(DataError, match="the file ends without"):
        read_arpa(write(text))


def test_repetitions_are_found_behind_blank_lines(write):
    text = FILE.replace("la maison\n-1\tmaison </s>", "la maison\n\n\n-1\t<s> la")
    with pytest.raises(DataError, match=r"lm.arpa:18: the 2-gram '<s> la' is there a second time"):
        read_arpa(write(text))


@st.composite
def models(draw):
    vocab = Vocab.of(["a", "b\u00a0c", "é"])
    orders = []
    order = draw(st.integers(1, 3))
    logprob = st.floats(max_value=0, width=32, allow_nan=False)
    backoff = st.floats(width=32, allow_nan=False, allow_infinity=False)
    for n in range(1, order + 1):
        if n == 1:
            words = [[i] for i in range(len(vocab))]
        else:
            words = draw(
                st.lists(st.lists(st.integers(0, len(vocab) - 1), min_size=n, max_size=n), unique_by=tuple, max_size=6)
            )
        size = len(words)
        weights = draw(st.lists(backoff, min_size=size, max_size=size)) if n < order else [0.0] * size
        orders.append(
            NGramTable(
                np.array(words, np.int32).reshape(-1, n),
                np.array(draw(st.lists(logprob, min_size=size, max_size=size)), np.float32),
                np.array(weights, np.float32),
            )
        )
    return NGrams(vocab, tuple(orders))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(models())
def test_writing_and_reading_gives_the_very_same_numbers(tmp_path, ngrams):
    write_arpa(tmp_path / "out.arpa", ngrams)
    assert_same(read_arpa(tmp_path / "out.arpa"), ngrams)


def test_kenlm_reads_what_we_write(write, tmp_path):
    ngrams = read_arpa(write(FILE.replace("-inf", "-9")))
    write_arpa(tmp_path / "out.arpa", ngrams)
    ours, theirs = kenlm.Model(str(tmp_path / "out.arpa")), kenlm.Model(str(write(FILE.replace("-inf", "-9"))))
    for sentence in ("la maison", "la la maison", "le maison"):
        assert ours.score(sentence) == theirs.score(sentence)
    assert ours.order == 3
