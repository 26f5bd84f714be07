import random

from dragoman.normalisation.running_text import changed_lines, cut, joined


def test_whatever_stands_between_words_stays():
    rng = random.Random(1)
    lines = ["".join(rng.choice("a\u017f,.- \t(»\u00a0") for _ in range(rng.randint(0, 12))) for _ in range(300)]
    for line in lines:
        words, between = cut(line)
        assert joined(words, between) == line
        assert all(word.strip(",.-( »\t\u00a0") == word and word for word in words)


def test_only_words_change():
    lines = ["»Vnd  das,« — jn=der", "", "..."]
    assert changed_lines(lines, lambda found: [[word.upper() for word in words] for words in found]) == [
        "»VND  DAS,« — JN=DER",
        "",
        "...",
    ]
