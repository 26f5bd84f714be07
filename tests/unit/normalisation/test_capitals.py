import pytest

from dragoman.core.errors import DataError
from dragoman.normalisation.examples import Capitals, Examples, Spelling, match_case
from dragoman.normalisation.training import train_normaliser
from oracles.spelling import pairs


def capitals_of(*rows):
    return Capitals.of(Examples.from_raw(rows, Spelling()).capitalised)


def test_nouns_have_the_capitals_of_the_examples():
    capitals = capitals_of(
        ("jar", "Jahr"), ("vnd", "und"), ("Vnd", "Und"), ("Grosse", "große"), ("jar", "jahr"), ("jar", "Jahr")
    )
    assert capitals.written("jahre", "jahr") == "Jahr"
    assert capitals.written("JAR", "jahr") == "JAHR"
    assert (capitals.written("vnd", "und"), capitals.written("Vnd", "und")) == ("und", "Und")
    assert capitals.written("Grosse", "große") == "große"
    assert (capitals.written("Thal", "tal"), capitals.written("thal", "tal")) == ("Tal", "tal")


def test_examples_in_lower_case_say_nothing():
    capitals = capitals_of(*[("Vnd", "und"), ("Thal", "tal")] * 20, ("wien", "Wien"))
    assert (capitals.written("Vnd", "und"), capitals.written("wien", "wien")) == ("Und", "wien")


def test_all_capitals_can_be_read_back():
    assert match_case("GROSS", "groß").lower() == "groß"


def test_digits_are_as_in_examples():
    capitals = capitals_of(("No1", "No1"), ("a1", "A2"))
    assert capitals.written("a1", "a2") == "A2"


def test_a_file_gives_the_same_back(tmp_path):
    capitals = capitals_of(("jar", "Jahr"), ("HERR", "Herr"))
    capitals.save(tmp_path / "c")
    assert Capitals.load(tmp_path / "c").forms == capitals.forms == {("lower", "jahr"): "Jahr", ("all", "herr"): "Herr"}
    (tmp_path / "c").write_text("some\tx\tX\n")
    with pytest.raises(DataError, match="1: found 'some"):
        Capitals.load(tmp_path / "c")


def test_a_normaliser_writes_nouns_as_its_examples_do(tmp_path):
    nouns = ("tag", "tal", "haus")
    rows = [(old, new.title() if new.startswith(nouns) else new) for old, new in pairs(120)]
    trained = train_normaliser(Examples.from_raw(rows, Spelling()))
    trained.save(tmp_path / "n")
    for normaliser in (trained, type(trained).load(tmp_path / "n")):
        assert normaliser.normalise(["thage", "vnd", "Vnd", "THAGE"]) == ["Tage", "und", "Und", "TAGE"]
