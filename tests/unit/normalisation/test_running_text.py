import random
import time
import unicodedata

import pytest

from dragoman.normalisation.examples import Spelling
from dragoman.normalisation.running_text import RunningText, WordFinder, change_text


def upper(sentences):
    return [[word.upper() for word in words] for words in sentences]


def words_of(line, forms=(), spelling=Spelling()):
    return WordFinder(forms, spelling).cut(line).words


def test_whatever_stands_between_words_stays():
    rng = random.Random(1)
    finder = WordFinder(["a'", "b. a", "a:b"])
    lines = [
        "".join(rng.choice("a\u017f,.-' \t(»\u00a0\r\u0301") for _ in range(rng.randint(0, 12))) for _ in range(500)
    ]
    for line in lines:
        found = finder.cut(line)
        assert found.joined(found.words) == line
        assert all(any(unicodedata.category(letter)[0] == "L" for letter in word) for word in found.words)


def test_only_words_change():
    text = "»Vnd  das,« — jn\r\n\n..."
    assert change_text(text, RunningText(WordFinder()), upper) == "»VND  DAS,« — JN\r\n\n..."


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("im hauß(vnd garten)", ["im", "hauß", "vnd", "garten"]),
        ("l'homme l\u2019homme 'vnd' Haus-Hof- Kol⸗ben", ["l'homme", "l\u2019homme", "vnd", "Haus-Hof", "Kol⸗ben"]),
        ("soͤll u\u0308ber 3,000 1630-1640 12.", ["soͤll", "u\u0308ber", "3,000", "1630", "1640", "12"]),
        ("a.b/c_d=e&f", ["a", "b", "c", "d", "e", "f"]),
        ("\ue001er \U0001f600 ❤\ufe0f", ["\ue001er"]),
    ],
)
def test_words_are_words_whatever_touches_them(line, expected):
    assert words_of(line) == expected


def test_forms_of_examples_are_found_whole_and_the_longest_first():
    forms = ["v'", "k'", "&c.", "z b.", "z b. s", "in'", "1."]
    assert words_of("V' hauß(k')vnd &c., z  B. so z B.", forms) == [
        "V'",
        "hauß",
        "k'",
        "vnd",
        "&c.",
        "z  B.",
        "so",
        "z B.",
    ]
    assert words_of("z B. s z B. so", forms) == ["z B. s", "z B.", "so"]
    assert words_of("1. 2.", forms) == ["1.", "2"]  # the examples have this digit only


def test_forms_are_not_found_within_words():
    assert words_of("v'haus xv' v'", ["v'"]) == ["v'haus", "xv", "v'"]


def test_what_joins_letters_in_examples_joins_them_in_text():
    assert words_of("H:K x:y :a: b", ["a:b"]) == ["H:K", "x:y", "a", "b"]
    slip = ["a:b", *(f"w{i}" for i in range(2000))]
    assert words_of("H:K a:b", slip) == ["H", "K", "a:b"]
    assert words_of("\u02dbsal \u02dbsalo", ["\u02dbsalomon"]) == ["\u02dbsal", "\u02dbsalo"]


def test_case_accents_and_digits_are_as_words_are_compared():
    assert words_of("W\u00dcR' WU\u0308R' 7.", ["wür'", "0."]) == ["W\u00dcR'", "WU\u0308R'", "7."]
    assert words_of("V' v'", ["v'"], Spelling(lowercase=False)) == ["V", "v'"]


def seconds(finder, line):
    begin = time.process_time()
    finder.cut(line)
    return time.process_time() - begin


@pytest.mark.parametrize("shape", ["a", "a'", "'", ".", "1,", "a\u0301", "a b ", "z z z'", "-a"])
def test_time_grows_with_the_text_and_not_with_its_square(shape):
    finder = WordFinder(["z z z z z z z z.", "a'", "a b a b a b."])
    small, large = shape * 200, shape * 1600
    least = min(seconds(finder, small) for _ in range(5))
    assert min(seconds(finder, large) for _ in range(5)) < 24 * least + 0.005
