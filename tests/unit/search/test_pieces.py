"""Sentences in pieces: where they are cut, and what is joined."""

import pytest
from hypothesis import given, strategies as st

from dragoman.search.pieces import cut, join_pieces
from dragoman.search.translation import Phrase, Translation

WORDS = st.lists(st.sampled_from(["la", "maison", ",", ".", "?!", "x.y", "。"]), max_size=60)


@given(WORDS, st.integers(1, 9))
def test_pieces_are_the_sentence_and_never_too_long(words, most):
    pieces = cut(words, most)
    assert [word for piece in pieces for word in piece] == words
    assert all(0 < len(piece) <= most for piece in pieces) or not words
    # Which is what makes the work linear.
    assert all(len(piece) > most // 2 for piece in pieces[:-1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b . c , d e f g", "a b .|c , d e f|g"),  # the end of a sentence before a comma that comes later
        ("a b c , d e f g", "a b c ,|d e f g"),
        ("a . b c d e f g", "a . b c d|e f g"),  # in the first half is too early
        ("a b c d e f g h", "a b c d e|f g h"),
        ("a b c d e", "a b c d e"),
    ],
)
def test_pieces_end_with_punctuation(text, expected):
    assert "|".join(" ".join(piece) for piece in cut(text.split(), 5)) == expected


def piece(source, text, links=((0, 0),), **features):
    phrase = Phrase((0, len(source.split())), (0, len(text.split())), links, unknown=False)
    return Translation(source, text, sum(features.values()), (phrase,), features)


def test_translations_are_joined_with_their_phrases_and_features():
    whole = join_pieces([piece("a b", "x", lm=1.0), piece("c", "", links=(), tm=2.0), piece("d", "y z", lm=0.5)])
    assert (whole.source, whole.text, whole.score) == ("a b c d", "x y z", 3.5)
    assert [(p.source, p.target, p.links) for p in whole.phrases] == [
        ((0, 2), (0, 1), ((0, 0),)),
        ((2, 3), (1, 1), ()),
        ((3, 4), (1, 3), ((3, 1),)),
    ]
    assert whole.features == {"lm": 1.5, "tm": 2.0}
