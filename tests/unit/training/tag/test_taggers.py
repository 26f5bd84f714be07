"""Taggers: one tag for one token, whatever stands behind them."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import option
from dragoman.training.tag import TAGGERS, Tagger


@dataclass(frozen=True)
class Lengths(Tagger):
    """Tags words by their lengths, and reads ahead; words of four letters get a tag too many."""

    ahead: int = option(1, "sentences to read before the first is tagged", minimum=1)

    def tags(self, sentences: Iterable[list[str]]):
        waiting = []
        for words in sentences:
            waiting.append(words)
            if len(waiting) == self.ahead:
                yield from map(self._tags, waiting)
                waiting = []
        yield from map(self._tags, waiting)

    def _tags(self, words):
        assert words
        return [str(len(word)) for word in words] + ["more"] * sum(len(word) == 4 for word in words)


Lengths.name = "lengths"


@pytest.mark.parametrize("ahead", [1, 2, 3, 9])
def test_empty_lines_and_odd_spaces(ahead):
    lines = ["", "a  bb", " ", "\tccc\xa0c ", "", "", "a", ""]
    found = list(Lengths(ahead).tag_lines(lines))
    assert found == [[], [("a", "1"), ("bb", "2")], [], [("ccc\xa0c", "5")], [], [], [("a", "1")], []]


@pytest.mark.parametrize("ahead", [1, 2, 9])
def test_another_number_of_tags_is_refused_with_the_line(ahead):
    with pytest.raises(DataError, match=r"^line 4: lengths gave 3 tags for 2 words; expected one for each"):
        list(Lengths(ahead).tag_lines(["a", "", "b", "a four", "c"]))


@pytest.mark.parametrize("tag", ["", "a b", "a|b"])
def test_tags_that_a_file_could_not_hold(tag, monkeypatch):
    monkeypatch.setattr(Lengths, "_tags", lambda self, words: [tag] * len(words))
    with pytest.raises(DataError, match="line 1: lengths gave 1 tags for 1 words"):
        list(Lengths().tag_lines(["a"]))


def test_a_tagger_that_stops_is_noticed(monkeypatch):
    monkeypatch.setattr(Lengths, "tags", lambda self, sentences: iter([["1"]] if list(sentences) else []))
    with pytest.raises(DataError, match="line 3: lengths gave no tags; expected 1"):
        list(Lengths().tag_lines(["a", "", "b"]))


def test_most_frequent_tags(tmp_path):
    file = tmp_path / "tagged"
    file.write_text("the|DT dog|NN runs|VB\nthe|DT run|NN run|VB run|VB\nhe|PR the|X tie|B tie|A\n", encoding="utf-8")
    tagger = TAGGERS.get("most-frequent")(model=file)
    found = list(tagger.tag_lines(["the run tie", "", "zebra"]))
    # dog, runs and he are there once; NN, PR and VB as often as each other.
    assert found == [[("the", "DT"), ("run", "VB"), ("tie", "A")], [], [("zebra", "NN")]]


def test_most_frequent_needs_a_text(tmp_path):
    with pytest.raises(UsageError, match="needs a tagged text to learn from"):
        list(TAGGERS.get("most-frequent")().tag_lines(["a"]))
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match="has no words"):
        list(TAGGERS.get("most-frequent")(model=tmp_path / "empty").tag_lines(["a"]))


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    for module in ("spacy", "textblob", "textblob.en.taggers"):
        monkeypatch.setitem(sys.modules, module, None)
    for name in ("spacy", "textblob"):
        with pytest.raises(UsageError, match=f"needs the package {name}: pip install {name}"):
            list(TAGGERS.get(name)().tag_lines(["a"]))


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # its own
def test_textblob_tags_english_without_downloads():
    pytest.importorskip("textblob")
    line = "two dogs are running , don 't they ? a|b &apos;s ..."
    (found,) = TAGGERS.get("textblob")().tag_lines([line])
    assert [word for word, _ in found] == line.split()
    assert [tag for _, tag in found[:5]] == ["CD", "NNS", "VBP", "VBG", ","]


def test_spacy_takes_tokens_as_they_are(tmp_path):
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("attribute_ruler").add([[{"LOWER": "don't"}]], {"TAG": "ODD", "POS": "VERB"})
    ruler = pipeline.get_pipe("attribute_ruler")
    ruler.add([[{"LOWER": {"NOT_IN": ["don't"]}}]], {"TAG": "W", "POS": "NOUN"})
    pipeline.to_disk(tmp_path / "pipeline")
    for tagset, expected in (("own", ["W", "ODD", "W"]), ("universal", ["NOUN", "VERB", "NOUN"])):
        tagger = TAGGERS.get("spacy")(model=str(tmp_path / "pipeline"), tagset=tagset)
        assert [[tag for _, tag in row] for row in tagger.tag_lines(["", "we don't e.g."])] == [[], expected]
    with pytest.raises(UsageError, match="has no pipeline 'nowhere'"):
        list(TAGGERS.get("spacy")(model="nowhere").tag_lines(["a"]))
