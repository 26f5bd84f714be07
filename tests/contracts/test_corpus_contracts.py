"""What every corpus recipe promises; a new file in corpora inherits these tests."""

import re

import pytest

from dragoman.core.errors import DragomanError
from dragoman.corpora import CORPORA
from dragoman.corpora.archive import Archive
from dragoman.corpora.builder import BuildableCorpus
from dragoman.corpora.recipe import Material, Package, Recipe, Segment

RECIPES = [name for name in CORPORA.names() if issubclass(CORPORA.get(name), Recipe)]
ARCHIVES = [name for name in CORPORA.names() if issubclass(CORPORA.get(name), Archive)]


@pytest.mark.parametrize("name", CORPORA.names())
def test_names_lead_to_classes(name):
    cls = CORPORA.get(name)
    assert cls.name == name == name.lower()
    assert issubclass(cls, BuildableCorpus)
    assert issubclass(cls, Recipe) != issubclass(cls, Archive)
    assert cls.__doc__
    assert cls.summary == cls.summary.strip() != ""
    assert not cls.summary.endswith(".")


def test_names_and_summaries_are_unique():
    classes = [CORPORA.get(name) for name in CORPORA.names()]
    assert len(set(classes)) == len({cls.summary for cls in classes}) == len(classes) > 2


@pytest.mark.parametrize("name", RECIPES)
def test_whatever_is_gathered_is_split_cleanly_and_repeatably(name, tmp_path, monkeypatch):
    """With segments of our own in place of the packages': the same seed gives the same bytes, another seed does not,
    and nothing of dev or test is in train."""
    segments = [Segment(f"d{i // 3}", f"source text {i}", f"target words {i}") for i in range(90)]
    segments += segments[:9]
    material = Material("fr", "en", segments, (Package("p", "1", "CC0"),))
    cls = CORPORA.get(name)
    monkeypatch.setattr(cls, "gather", lambda self, *, runtime: material)
    for folder, seed in (("one", 1), ("two", 1), ("three", 2)):
        cls(dev=9, test=9).build(tmp_path / folder, seed=seed)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["dev.en", "dev.fr", "manifest.toml", "test.en", "test.fr", "train.en", "train.fr"]
    one, two, three = (
        {file: (tmp_path / folder / file).read_bytes() for file in files} for folder in ("one", "two", "three")
    )
    assert one == two
    assert one["test.fr"] != three["test.fr"]
    lines = {file: one[file].decode().splitlines() for file in files}
    assert len(lines["dev.fr"]) >= 9
    assert not {*lines["dev.fr"], *lines["test.fr"]} & {*lines["train.fr"]}
    assert sorted(lines["train.fr"] + lines["dev.fr"] + lines["test.fr"]) == sorted(
        f"source text {i}" for i in range(90)
    )
    for part in ("train", "dev", "test"):
        numbers = [[line.split()[-1] for line in lines[f"{part}.{side}"]] for side in ("fr", "en")]
        assert numbers[0] == numbers[1]


@pytest.mark.parametrize("name", RECIPES)
def test_nothing_gathered_is_an_error_that_names_the_corpus(name, tmp_path, monkeypatch):
    cls = CORPORA.get(name)
    monkeypatch.setattr(cls, "gather", lambda self, *, runtime: Material("fr", "en", [], ()))
    with pytest.raises(DragomanError, match=name):
        cls().build(tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_say_what_they_are_and_may_be_checked(name):
    cls = CORPORA.get(name)
    assert cls.licence
    assert re.fullmatch(r"https://\S+", cls.home)
    assert len({file.name for file in cls.files}) == len(cls.files) > 0
    for file in cls.files:
        assert re.fullmatch(r"[\w.-]+\.gz", file.name)
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        # An address that always gives the same bytes: that of a commit.
        assert all(
            re.match(r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/[0-9a-f]{40}/", url) for url in file.urls
        )
        assert 1 <= file.first <= (file.last or file.first)
