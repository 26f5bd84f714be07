import pytest

from dragoman.core.errors import DataError
from dragoman.search.fixed_translations import parse_markup, prepare_markup, without_markup
from dragoman.text.preparation import TextPreparation

RAW = TextPreparation("de", "en", tokenise=True, lowercase=True)


@pytest.mark.parametrize(
    ("line", "words", "targets"),
    [
        ('Wo ist <x translation="Ann\'s dog">Anns Hund</x>?', "wo ist anns hund ?", ["ann 's dog"]),
        ('(<n translation="A&amp;B||C, D" prob="0.5||0.5">A&amp;B</n>)', "( a & b )", ["a & b", "c , d"]),
        ('1 &lt; 2, <x translation="&lt;b&gt; &quot;">&lt;b&gt;</x>', "1 < 2 , < b >", ['< b > "']),
        ("Nichts, gar nichts.", "nichts , gar nichts .", []),
    ],
)
def test_words_and_translations_are_prepared_and_tags_stay(line, words, targets):
    found, given = parse_markup(prepare_markup(line, RAW))
    assert found == words
    assert [translation.target for translation in given] == targets
    assert [translation.log_probability for translation in given] == [
        translation.log_probability for translation in parse_markup(line)[1]
    ]


def test_what_is_prepared_already_stays_what_it_is():
    line = 'a <x translation="b c">d e</x> f &amp; g'
    assert parse_markup(prepare_markup(line, TextPreparation())) == parse_markup(line)


@pytest.mark.parametrize("line", ["<x>Haus</x>", '<x translation="a">Haus', "Haus</x>", '<x translation="a"></x>'])
def test_wrong_markup_is_refused_before_it_is_prepared(line):
    with pytest.raises(DataError):
        prepare_markup(line, RAW)


def test_words_as_they_were_written():
    assert without_markup('Wo ist <x translation="McX\'s">Y</x>?', RAW) == "Wo ist Y ? McX 's"
