import gzip
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import option
from dragoman.corpora import CORPORA
from dragoman.corpora.recipe import Material, Package, Recipe, Segment


@dataclass(frozen=True)
class Toy(Recipe):
    name: ClassVar[str] = "toy"
    summary: ClassVar[str] = 'a "toy"'

    size: int = option(50, "segments")
    where: Path | None = option(Path("somewhere"), "no matter")

    def gather(self, *, runtime=None):
        segments = [
            Segment(
                f"d{n // 2}", f" Phrase <i>numéro</i> {n}", f"sentence\tnumber {n}", (f"line {n}" if n % 5 else "",)
            )
            for n in range(self.size)
        ]
        return Material("fr", "en", segments, (Package("toy-data", "1.0", "MIT"),), ("alt",))


def read(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_build_writes_parallel_files_and_a_manifest(tmp_path):
    manifest = Toy(dev=4, test=6).build(tmp_path / "toy")
    files = read(tmp_path / "toy")
    names = {"train.fr", "train.en", "dev.fr", "dev.en", "dev.alt", "test.fr", "test.en", "test.alt", "manifest.toml"}
    assert files.keys() == names
    lines = {name: data.decode().splitlines() for name, data in files.items()}
    numbers = {name: [line.split()[-1] for line in lines[name]] for name in names - {"manifest.toml"}}
    assert numbers["train.fr"] == numbers["train.en"]
    assert numbers["dev.fr"] == numbers["dev.en"] == numbers["dev.alt"]
    assert len(numbers["test.fr"]) == len(numbers["test.en"]) == len(numbers["test.alt"]) == 6
    assert sorted(numbers["train.fr"] + numbers["dev.fr"] + numbers["test.fr"], key=int) == [str(n) for n in range(50)]
    assert lines["train.fr"][0].startswith("Phrase numéro ")
    told = tomllib.loads(files["manifest.toml"].decode())
    assert told["counts"] == dict(manifest.counts)
    assert told["counts"] | {"gathered": 50, "kept": 50, "train": 40, "dev": 4, "test": 6} == told["counts"]
    assert told["packages"] == [{"name": "toy-data", "version": "1.0", "licence": "MIT"}]
    assert told["summary"] == 'a "toy"'
    assert told["references"] == ["alt"]
    assert told["seed"] == 1
    assert told["options"]["dev"] == 4
    assert "where" not in told["options"]


def test_same_seed_same_bytes(tmp_path):
    recipe = Toy(dev=4, test=6)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        recipe.build(tmp_path / name, seed=seed)
    assert read(tmp_path / "a") == read(tmp_path / "b")
    assert read(tmp_path / "a")["test.fr"] != read(tmp_path / "c")["test.fr"]


def test_compressed_files_hold_the_same(tmp_path):
    Toy(dev=4, test=6).build(tmp_path / "plain")
    Toy(dev=4, test=6, compress=True).build(tmp_path / "gz")
    plain, packed = read(tmp_path / "plain"), read(tmp_path / "gz")
    assert gzip.decompress(packed["train.fr.gz"]) == plain["train.fr"]
    assert "manifest.toml" in packed


def test_tokenised_files_have_the_same_pairs(tmp_path):
    Toy(dev=4, test=6).build(tmp_path / "raw")
    Toy(dev=4, test=6, tokenised=True).build(tmp_path / "tokenised")
    raw, tokenised = read(tmp_path / "raw"), read(tmp_path / "tokenised")
    assert raw["test.fr"] != tokenised["test.fr"] == raw["test.fr"].lower()
    assert tomllib.loads(tokenised["manifest.toml"].decode())["options"]["tokenised"]


def test_sides_are_tokenised_by_the_rules_of_their_language():
    material = Material("fr", "pt-br", (), ())
    assert material.tokenise(["L\u2019homme, c'est moi."], "fr") == ["l' homme , c' est moi ."]
    assert material.tokenise(["Bom dia, Sr. Silva."], "pt-br") == ["bom dia , sr. silva ."]
    assert Material("kjv", "web", (), (), language="en").tokenise(["It's he."], "kjv") == ["it 's he ."]


def test_a_failed_build_leaves_nothing_and_keeps_the_old(tmp_path):
    out = tmp_path / "toy"
    Toy(dev=4, test=6).build(out)
    before = read(out)
    with pytest.raises(DataError, match="are to be held out"):
        Toy().build(out)
    with pytest.raises(DataError, match="hold no pairs fr-en"):
        Toy(size=0).build(out)
    assert read(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def test_registry_finds_the_recipes():
    assert {"kjv-web", "libreoffice-help", "multi30k", "wesnoth"} < set(CORPORA.names())
    for name in CORPORA.names():
        recipe = CORPORA.get(name)
        assert recipe.summary
        assert recipe.from_dict(recipe().to_dict()) == recipe()
    with pytest.raises(UsageError, match="no corpus is called 'x'"):
        CORPORA.get("x")


def test_a_corpus_is_replaced_and_what_was_made_of_it_is_not(tmp_path):
    for compress in (True, False, True):
        Toy(dev=4, test=6, compress=compress).build(tmp_path / "toy")
    (tmp_path / "toy" / "train.tok.fr").write_text("mine")
    before = read(tmp_path / "toy")
    with pytest.raises(DataError, match=r"holds train\.tok\.fr that Dragoman did not write"):
        Toy(dev=4, test=6).build(tmp_path / "toy")
    assert read(tmp_path / "toy") == before
