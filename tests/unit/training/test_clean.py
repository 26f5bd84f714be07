import re

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.training.prepare import Cleaning, clean


def bitext(*pairs):
    return Bitext(Corpus.from_lines(s for s, _ in pairs), Corpus.from_lines(t for _, t in pairs))


def test_a_clean_bitext_comes_back_as_it_is_without_a_warning():
    pairs = bitext(("la maison", "the house"), ("oui", "yes"))
    cleaned = clean(pairs)
    assert cleaned.bitext is pairs
    assert cleaned.rows.tolist() == [0, 1]
    assert sum(cleaned.dropped.values()) == 0


def test_each_reason_is_counted_once_and_told():
    pairs = bitext(
        ("a", "A"),
        ("", "A"),
        ("a", "  "),
        ("a " * 5, "A " * 4),
        ("a", "A " * 4),
        ("a ||| b", "A B"),
        ("a b", "A </s>"),
        ("", "<unk> " * 9),
        ("a b c d", "A B C D"),
    )
    with pytest.warns(DragomanWarning) as warned:
        cleaned = clean(pairs, Cleaning(max_length=4, max_ratio=3))
    assert cleaned.rows.tolist() == [0, 8]
    assert cleaned.bitext.source.lines() == ["a", "a b c d"]
    assert cleaned.bitext.target.lines() == ["A", "A B C D"]
    assert [str(w.message) for w in warned] == [
        "skipped 7 of 9 pairs: 3 with an empty side, 1 longer than 4 words, "
        "1 with one side over 3 times as long, 2 with a reserved word (||| <unk> <s> </s>)"
    ]


@pytest.mark.parametrize("word", ["|||", "<s>", "</s>", "<unk>"])
@pytest.mark.parametrize("side", [0, 1])
def test_reserved_words_are_found_on_either_side(word, side):
    pair = ["x y", "x y"]
    pair[side] = f"x {word}"
    with pytest.warns(DragomanWarning, match="1 with a reserved word"):
        assert clean(bitext(("x y", "x y"), tuple(pair))).rows.tolist() == [0]


def test_the_limits_themselves_are_allowed():
    pairs = bitext(("a " * 80, "A " * 80), ("a " * 9, "A"))
    assert len(clean(pairs).rows) == 2


def test_nothing_left_is_an_error_that_says_why():
    with pytest.raises(DataError, match=re.escape("none of the 2 sentence pairs can be used: 2 with an empty side")):
        clean(bitext(("", "A"), ("a", "")))
    with pytest.raises(DataError, match="there are no sentence pairs"):
        clean(bitext())


def test_agrees_with_a_plain_loop_on_random_lengths():
    rng = np.random.default_rng(3)
    pairs = [(" ".join("a" * a), " ".join("b" * b)) for a, b in rng.integers(0, 30, (400, 2))]
    with pytest.warns(DragomanWarning):
        rows = clean(bitext(*pairs), Cleaning(max_length=20, max_ratio=2.5)).rows
    lengths = [(len(s.split()), len(t.split())) for s, t in pairs]
    expected = [i for i, (a, b) in enumerate(lengths) if min(a, b) > 0 and max(a, b) <= min(20, 2.5 * min(a, b))]
    assert rows.tolist() == expected


def test_options_are_checked():
    with pytest.raises(UsageError, match="max_length is 0; expected at least 1"):
        Cleaning(max_length=0)
