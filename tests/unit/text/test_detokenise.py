"""Tokens to text, and text that comes back as it was."""

import random

import pytest

from dragoman.text.preparation import TextPreparation
from dragoman.text.tokenise import Tokeniser, detokenise, detokenise_lines, normalise_punctuation, tokenise_lines

BY_RULES = [
    ("en", 'Well, Mr. Smith (60) isn\'t "here"; is he?'),
    ("en", "The dogs' bones cost $5.50 (10%), don't they?"),
    ("en", "\"It's 'so-so',\" he said, \"isn't it?\""),
    ("en", "He left\u2014she didn\u2019t say \u201cwhy\u201d."),
    ("fr", "L'été n'est pas là, dit-il : « Pourquoi ? » Il a 10 % !"),
    ("de", "\u201eGut\u201c, sagte er; »ja« (5 %)."),
    ("it", "Quest'anno l'arte dell'isola costa 5% di più."),
    ("es", "¿Qué? ¡No! «Sí», dijo."),
    ("cs", "Řekl: \u201eAno\u201c, a odešel."),
]
PIECES = """
    a word It's l'homme dogs' rock'n'roll Mr. U.S. 3,000 3.5% 50 % $5 5 € ( ) (b) [c] " " ' ' "so" 'so' , . ; : ! ? ?!
    ... - -- \u2013 \u2014 / a/b & * = <b> </b> # @x #1 http://example.org/x?y=1 a@b.org file_name \u201c \u201d \u00ab
    \u00bb \u201e \u2019 \u2018 \u2026 é Ünder don't
    """.split()  # noqa: SIM905


@pytest.mark.parametrize(("language", "text"), BY_RULES)
def test_ordinary_text_comes_back_by_rules_alone(language, text):
    tokens = tokenise_lines([text], language, Tokeniser(protect=True))
    assert detokenise_lines(tokens, language) == [text]
    assert tokenise_lines([text], language, Tokeniser(protect=True, marks=True)) == tokens  # nothing to mark


@pytest.mark.parametrize("language", ["en", "fr", "de", "it", "xx"])
def test_whatever_is_written_comes_back(language):
    rng = random.Random(language)
    pieces = [[rng.choice(PIECES) + rng.choice(["", " ", " "]) for _ in range(rng.randint(1, 12))] for _ in range(500)]
    lines = ["".join([*some, " a,b"]).strip() for some in pieces]  # the last word tells that it is raw text
    tokens = tokenise_lines(lines, language, Tokeniser(protect=True, marks=True))
    assert detokenise_lines(tokens, language) == [" ".join(line.split()) for line in lines]


def test_words_of_a_model_stay_the_words_they_are():
    text = TextPreparation("en", "en", tokenise=True, protect=True, lowercase=True)
    words = list(text.target(['It\'s "so" , he said(5 %).', "A dog's bone."]))
    assert words[0] == 'it \'s " so " ▁, he said ￭( 5 ▁% ) .'
    assert list(text.target(words)) == words


def test_source_text_has_no_marks():
    text = TextPreparation("en", "en", tokenise=True, protect=True)
    assert list(text.source(["He said(5 %) ￭a"])) == ["He said ( 5 % ) ■ a"]


def test_models_without_marks_take_signs_as_they_are():
    assert TextPreparation(tokenise=True).restore(["a ▁b ￭c ."]) == ["a ▁b ￭c."]


def test_the_examples_of_a_newcomer():
    """Text as a person would write it."""
    form = {"tokenise": True, "protect": True, "normalise_punctuation": True}
    for language, text in [
        ("en", "It\u2019s a \u201cgreat\u201d day \u2014 isn\u2019t it?"),
        ("en", "See http://example.org/x?y=1"),
        ("en", "3,000 men"),
        ("fr", "l\u2019homme"),
    ]:
        prepared = TextPreparation(language, language, **form)
        assert prepared.restore(list(prepared.target([text]))) == [normalise_punctuation(text, language)]
    french = TextPreparation("fr", "fr", **form)
    assert list(french.source(["l\u2019homme", "l'homme"])) == ["l' homme"] * 2


def test_languages_without_spaces_are_joined():
    words = ["猫", "が", "3,000", "匹", "い", "る", "。", "see", "example.org/x", "and", "cats", "(", "犬", ")", "!"]
    assert detokenise(words, "ja", unspaced=True) == "猫が3,000匹いる。see example.org/x and cats (犬)!"
    assert detokenise(["ฉัน", "รัก", "Thai", "food"], "th", unspaced=True) == "ฉันรักThai food"


def test_hyphens_that_were_split_off():
    assert detokenise(["a", "well", "@-@", "known", "T", "@-@", "shirt"], "en") == "a well-known T-shirt"
