"""One text in two tokenisations."""

import itertools

import numpy as np
import pytest

from dragoman.text.source_trees import first_difference, same_boundaries


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("I don 't know", "I do n't know"),
        ("i can not", "I cannot"),
        ("it &apos;s &quot; a &amp; b &quot; &#91; 1 &#93;", "It 's `` a & b '' [ 1 ]"),
        ("( a ) [ b ]", "-LRB- a -RRB- -LSB- b -RSB-"),
        ("-LRB- a -RRB-", "( a )"),
        ("1/2 * 3", "1\\/2 \\* 3"),
        ("a t @-@ shirt", "a t-shirt"),
        ("“ so ” … \u2018 no \u2019 — \u2019tis", "`` so '' ... ` no ' -- 'tis"),
        ('" so "', "' ' so ''"),
        ("e\u0301te\u0301 STRASSE", "été straße"),
        ("1\u00a0000 kg", "1 000kg"),
    ],
)
def test_the_same_text_written_differently(ours, theirs):
    begin, end = same_boundaries(ours.split(" "), theirs.split(" "))
    assert (begin[0], end[-1]) == (0, len(ours.split(" ")))
    assert same_boundaries(theirs.split(), ours.split()) is not None


@pytest.mark.parametrize(
    ("ours", "theirs", "places"), [("a b", "a c", (1, 1)), ("a b c", "ab", (2, 1)), ("a", "b", (0, 0))]
)
def test_other_texts(ours, theirs, places):
    assert same_boundaries(ours.split(), theirs.split()) is None
    assert first_difference(ours.split(), theirs.split()) == places


@pytest.mark.parametrize("seed", range(30))
def test_boundaries_are_where_as_many_characters_have_passed(seed):
    rng = np.random.default_rng(seed)
    text = "".join(rng.choice([*"abcd"], rng.integers(1, 12)))

    def cut():
        places = sorted({0, len(text), *rng.integers(1, len(text) + 1, 3).tolist()})
        return [text[a:b] for a, b in itertools.pairwise(places)]

    ours, theirs = cut(), cut()
    begin, end = same_boundaries(ours, theirs)
    ends = {len("".join(ours[:k])): k for k in range(len(ours) + 1)}
    expected = [ends.get(len("".join(theirs[:k])), -1) for k in range(len(theirs) + 1)]
    assert begin.tolist() == end.tolist() == expected


def test_words_without_characters_belong_to_neither_side():
    begin, end = same_boundaries(["a", "\u200b", "b"], ["a", "b"])
    assert (begin.tolist(), end.tolist()) == ([0, 2, 3], [0, 1, 3])
