"""What separates words."""

from dragoman.text.words import words_of


def test_only_ascii_white_space_separates_words():
    assert words_of(" a\tb\u00a0c  d\u3000\x1c ") == ["a", "b\u00a0c", "d\u3000\x1c"]
