import random
import sys
import unicodedata

import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.search.fixed_translations import prepare_markup
from dragoman.text.preparation import TextPreparation

ODD = [" ", "  a ", "▁", "▁▁t", "\t", "\r\v\f", "e\u0301", "\u0301", "a\u00a0b\u2028", "|||", "<s>", "\x00", "😀\u200d"]


def lines():
    rng = random.Random(1)
    letters = "ab ▁\t\r\u0301tvf\u00a0"
    drawn = ["".join(rng.choice(letters) for _ in range(rng.randint(0, 9))) for _ in range(300)]
    every = [
        chr(point) for point in range(sys.maxunicode) if point % 97 == 0 and unicodedata.category(chr(point)) != "Cs"
    ]
    return [line for line in ["", *ODD, *drawn, "".join(every)] if "\n" not in line]


@pytest.mark.parametrize("boundaries", [False, True])
def test_whatever_the_characters_they_come_back(boundaries):
    text = TextPreparation(units="characters", boundaries=boundaries)
    units = list(text.source(lines()))
    # Through the words of a corpus, as a model sees them.
    assert text.restore(Corpus.from_lines(units).lines()) == lines()


def test_no_unit_means_anything_else_to_a_model():
    units = Corpus.from_lines(TextPreparation(units="characters").source(lines()))
    reserved = {"<s>", "</s>", "<unk>", "|||"}
    assert not reserved & {word for line in units.lines() for word in line.split(" ")}


def test_letters_are_composed_before_they_are_cut():
    text = TextPreparation(units="characters", nfc=True)
    assert list(text.target(["e\u0301"])) == ["\u00e9"]


def test_boundaries_that_a_model_left_out_are_not_missed():
    text = TextPreparation(units="characters", boundaries=True)
    assert text.restore(["a b", "▁ a", "▁", ""]) == ["ab", "a", "", ""]


def test_markup_is_for_words():
    with pytest.raises(UsageError, match="words are characters"):
        prepare_markup("a", TextPreparation(units="characters"))
