import numpy as np
import pytest
from hypothesis import given, strategies as st

from dragoman import kernels
from dragoman.core.corpus import texts_of
from dragoman.core.ragged import Ragged
from oracles import text as oracle
from oracles.sequences import intern_sequences

pytestmark = pytest.mark.slow

# Few letters, so that words repeat; every byte that separates or looks as if it did.
TEXT = st.lists(
    st.sampled_from([b"a", b"b", b"ab", b" ", b"\n", b"\t", b"\r", b"\x0b", b"\x00", b"\x85", b"\xc2\xa0"])
).map(b"".join)
WORDS = st.lists(
    st.binary(min_size=1, max_size=20).filter(lambda w: oracle.split_words(w) == [w] and b"\n" not in w), unique=True
)
ROWS = st.lists(st.lists(st.integers(-1, 3), max_size=4))


def array(data):
    return np.frombuffer(data, np.uint8)


def words_of(blob, offsets):
    return [row.tobytes() for row in Ragged(blob, offsets)]


@given(TEXT, WORDS)
def test_intern_lines(text, words):
    ids, lines, blob, offsets, index = kernels.intern_lines(array(text), texts_of(words))
    rows, grown = oracle.intern_lines(text, words)
    assert [row.tolist() for row in Ragged(ids, lines)] == rows
    assert words_of(blob, offsets) == grown
    np.testing.assert_array_equal(index, kernels.word_index(kernels.Texts(values=blob, offsets=offsets)))


@given(TEXT, WORDS)
def test_lookup_lines(text, words):
    words = [b"<unk>", *(word for word in words if word != b"<unk>")]
    ids, lines = kernels.lookup_lines(array(text), texts_of(words), kernels.word_index(texts_of(words)))
    number = {word: i for i, word in enumerate(words)}
    rows = [[number.get(word, 0) for word in oracle.split_words(line)] for line in oracle.split_lines(text)]
    assert [row.tolist() for row in Ragged(ids, lines)] == rows


@given(WORDS)
def test_the_index_finds_every_word_and_is_at_most_half_full(words):
    index = kernels.word_index(texts_of(words))
    assert sorted(index[index >= 0].tolist()) == list(range(len(words)))
    assert len(index) >= 2 * len(words)
    assert len(index).bit_count() == 1


@given(ROWS, st.lists(st.binary(min_size=1, max_size=3), min_size=5, max_size=5))
def test_join_lines(rows, words):
    rows = [[value + 1 for value in row] for row in rows]
    ragged = Ragged.of(rows, np.int32)
    text = kernels.join_lines(ragged.for_kernels(), texts_of(words))
    assert text.tobytes() == b"".join(b" ".join(words[i] for i in row) + b"\n" for row in rows)


def test_many_words_and_sequences_make_the_tables_grow():
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 30000, 100000)
    text = b"".join(b"%d%s" % (n, b"\n" if n % 7 == 0 else b" ") for n in numbers.tolist())
    ids, lines, blob, offsets, _ = kernels.intern_lines(array(text), texts_of([]))
    rows, words = oracle.intern_lines(text, [])
    assert words_of(blob, offsets) == words
    assert ids.tolist() == [i for row in rows for i in row]
    numbered, _, distinct = kernels.intern_sequences(ids, lines)
    assert numbered.tolist() == intern_sequences(rows)[0]
    assert len(distinct) - 1 == len(set(map(tuple, rows)))
