"""Uniform punctuation."""

import pytest

from dragoman.text.tokenise import normalise_punctuation


@pytest.mark.parametrize(
    ("language", "typed", "uniform"),
    [
        ("en", "It\u2019s a \u201cgreat\u201d day \u2014 isn\u2019t it?", "It's a \"great\" day \u2013 isn't it?"),
        ("en", "day\u2014isn\u02bct it\u2026", "day \u2013 isn't it..."),
        ("en", "``So'' he said", '"So" he said'),
        ("fr", "l\u2019homme\u00a0: \u00ab\u202foui\u202f\u00bb", "l'homme : \u00ab oui \u00bb"),
        ("de", "\u201egut\u201c, \u201aso\u2018", "\"gut\", 'so'"),
        ("de", "1990\u20132000, 3\u20144, Köln\u2013Bonn", "1990\u20132000, 3\u20134, Köln\u2013Bonn"),
        ("en", "\u2014No\u2014\u2014", "\u2013 No \u2013"),
        ("en", "soft\u00adhyphen\u200b\ufeff  and\u3000wide\uff01", "softhyphen and wide!"),
        ("ja", "\u201c猫\u201d\uff01\u3000犬", "\u201c猫\u201d\uff01 犬"),
        ("en", "a -- b - c", "a -- b - c"),
    ],
)
def test_signs_become_uniform_and_stay_so(language, typed, uniform):
    assert normalise_punctuation(typed, language) == uniform
    assert normalise_punctuation(uniform, language) == uniform


def test_joiners_that_change_what_is_read_stay():
    assert normalise_punctuation("\u0645\u06cc\u200c\u062e", "fa") == "\u0645\u06cc\u200c\u062e"
