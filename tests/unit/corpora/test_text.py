import pytest

from dragoman.corpora.text import fold, normalise, pair_sentences, split_sentences


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("  two\u00a0\u202f words\t\n", "two words"),
        ("e\u0301", "é"),
        ("a<br/>b <span class='x'>c</span>", "ab c"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("soft\u00adhyphen\u200b \ufeffmark", "softhyphen mark"),
        ("bell\x07 and \x85 next", "bell and next"),
        ("• point", "point"),
        ("\u0915\u094d\u200d\u0937", "\u0915\u094d\u200d\u0937"),
        ("", ""),
    ],
)
def test_normalise(raw, expected):
    assert normalise(raw) == expected
    assert normalise(expected) == expected


def test_fold_keeps_letters_and_digits_of_all_scripts():
    assert fold("Straße 7, “Да”!") == "strasse7да"  # noqa: RUF001
    assert fold("… -- !") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("He said “No.” Then left.", ["He said “No.”", "Then left."]),
        ("Version 7. See below.", ["Version 7. See below."]),
        ("Am 3. Mai kam Dr. Mann.", ["Am 3. Mai kam Dr. Mann."]),
        ("Wait... what? Yes", ["Wait... what?", "Yes"]),
        ("z. B. Haus", ["z. B. Haus"]),
        ("是。不是！", ["是。", "不是！"]),  # noqa: RUF001
        ("No end", ["No end"]),
        ("", [""]),
    ],
)
def test_split_sentences(text, expected):
    assert split_sentences(text) == expected


def test_pair_sentences_goes_by_lines_first():
    assert pair_sentences("Un\n\nDeux. Trois.", "One\nTwo. Three.") == [
        ("Un", "One"),
        ("Deux.", "Two."),
        ("Trois.", "Three."),
    ]
    assert pair_sentences("Un\nDeux", "One and two") == [("Un Deux", "One and two")]


def test_pair_sentences_keeps_a_paragraph_whole_where_the_sentences_do_not_match_in_length():
    source = "Oui. Je pense que nous devrions maintenant tous rentrer à la maison, mes amis."
    target = "Yes, I think that we should now all of us go home together, my friends. Come on."
    assert pair_sentences(source, target) == [(source, target)]
