from dragoman.normalisation.examples import Spelling
from dragoman.normalisation.lexicon import Lexicon


def test_lists_are_read_as_words_are(tmp_path):
    (tmp_path / "w").write_text("Haus\nHA\u0308US\n--\n\n1642er\n" + "x" * 300 + "\n", encoding="utf-8")
    found = Lexicon.read([tmp_path / "w"])
    assert found.words == {"haus", "h\u00e4us", "0000er"}
    assert "Haus" in Lexicon.read([tmp_path / "w"], Spelling(lowercase=False))
    found.save(tmp_path / "saved")
    assert Lexicon.load(tmp_path / "saved").words == found.words


def test_parts_of_compounds_are_words_of_three_letters():
    words = Lexicon.of(["hand", "tag", "zu"])
    assert words.is_compound("handtag")
    assert not any(map(words.is_compound, ["zuhand", "handzu", "tag", "handtagtag", ""]))
