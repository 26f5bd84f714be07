import numpy as np
import pytest
from hypothesis import given, strategies as st

from dragoman.core.corpus import BOS, EOS, SPECIAL, UNK, Vocab
from dragoman.core.errors import DataError

WORDS = st.text(st.characters(exclude_characters=" \t\n\v\f\r", exclude_categories=["Cs"]), min_size=1, max_size=12)


def test_every_vocabulary_starts_with_the_special_words():
    vocab = Vocab.of(["a", "</s>", "<unk>"])
    assert list(vocab) == [*SPECIAL, "a"]
    assert [vocab.id(word) for word in SPECIAL] == [UNK, BOS, EOS]


@given(st.lists(WORDS))
def test_ids_and_words_are_inverse(words):
    vocab = Vocab.of(words)
    distinct = list(dict.fromkeys([*SPECIAL, *words]))
    assert list(vocab) == distinct
    assert len(vocab) == len(distinct)
    assert [vocab.id(word) for word in distinct] == list(range(len(distinct)))
    assert [vocab[i] for i in range(len(vocab))] == distinct


@given(st.lists(st.lists(WORDS)), st.lists(WORDS))
def test_extending_keeps_ids_and_encoding_finds_them(lines, known):
    text = "".join(" ".join(line) + "\n" for line in lines).encode()
    before = Vocab.of(known)
    vocab, ids, offsets = before.extend(text)
    assert list(vocab)[: len(before)] == list(before)
    assert vocab.decode(ids, offsets) == text
    again, again_offsets = vocab.encode(text)
    assert again.tolist() == ids.tolist()
    assert again_offsets.tolist() == offsets.tolist()
    # A vocabulary that grew is the same, byte for byte, as one that was built at once.
    at_once = Vocab.of(list(vocab))
    for name, array in vocab.arrays().items():
        np.testing.assert_array_equal(array, at_once.arrays()[name])


def test_unknown_words_and_strings_that_are_no_word():
    vocab = Vocab.of(["la"])
    assert vocab.id("le") == UNK
    assert vocab.id("la la") == UNK
    assert vocab.id("") == UNK
    with pytest.raises(IndexError):
        vocab[4]
    with pytest.raises(IndexError):
        vocab[-1]


def test_map_to_another_vocabulary():
    ours, theirs = Vocab.of(["a", "b", "c"]), Vocab.of(["c", "a"])
    assert ours.map_to(theirs).tolist() == [0, 1, 2, 4, 0, 3]


def test_stored_arrays_give_the_vocabulary_again():
    vocab = Vocab.of(["la", "maison"])
    again = Vocab.from_arrays(vocab.arrays())
    assert list(again) == list(vocab)
    assert again.id("maison") == vocab.id("maison")


def damaged(name, change):
    arrays = {key: array.copy() for key, array in Vocab.of(["la", "maison"]).arrays().items()}
    arrays[name] = change(arrays[name])
    return arrays


def changed(at, value):
    def change(array):
        array[at] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("blob", lambda array: array[:-1]),
        ("blob", lambda array: array.astype(np.int8)),
        ("offsets", lambda array: array[:0]),
        ("offsets", lambda array: array[:3]),
        ("offsets", changed(2, 100)),
        ("offsets", changed(0, -1)),
        ("offsets", lambda array: array.astype(np.int32)),
        ("index", lambda array: array[:-1]),
        ("index", lambda array: array[:4]),
        ("index", changed(0, 5)),
        ("index", changed(0, -2)),
        ("index", lambda array: np.maximum(array, 0)),
        ("index", lambda array: array.reshape(2, -1)),
    ],
)
def test_damaged_arrays_are_refused(name, change):
    with pytest.raises(DataError, match="vocabulary"):
        Vocab.from_arrays(damaged(name, change))


@pytest.mark.parametrize("name", ["blob", "offsets", "index"])
def test_missing_arrays_are_refused(name):
    arrays = Vocab.of().arrays()
    del arrays[name]
    with pytest.raises(DataError, match="vocabulary"):
        Vocab.from_arrays(arrays)
