import gzip
import hashlib
import tomllib
from dataclasses import dataclass
from typing import ClassVar

import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.core.store import cache_folder
from dragoman.corpora.archive import Archive, ArchiveFile
from dragoman.corpora.wesnoth_tokenised import WesnothTokenised

LINES = [f"line {n}\n".encode() for n in range(10)]


def sha256(text):
    return hashlib.sha256(text).hexdigest()


class Notes(Progress):
    """Keeps what is said."""

    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def archive(*members):
    """Return a class of archive with these files."""

    @dataclass(frozen=True)
    class Toy(Archive):
        name: ClassVar[str] = "toy-archive"
        summary: ClassVar[str] = "a toy"
        licence: ClassVar[str] = "CC0"
        home: ClassVar[str] = "https://example.org/toy"
        files: ClassVar[tuple[ArchiveFile, ...]] = members

    return Toy


@pytest.fixture
def toy(server):
    """An archive of two published pieces, cut into two files, and of one that is published gzipped."""
    server.files = {
        "/set/all.000": b"".join(LINES[:6]),
        "/set/all.001": b"".join(LINES[6:]),
        "/set/words.gz": gzip.compress(b"words\n"),
    }
    pieces = (f"{server.url}/set/all.000", f"{server.url}/set/all.001")
    return archive(
        ArchiveFile("train.en.gz", sha256(b"".join(LINES[:8])), pieces, 1, 8),
        ArchiveFile("test.en.gz", sha256(b"".join(LINES[8:])), pieces, 9, 10),
        ArchiveFile("words.txt.gz", sha256(b"words\n"), (f"{server.url}/set/words.gz",)),
    )


def read(folder):
    return {path.name: gzip.decompress(path.read_bytes()) for path in folder.glob("*.gz")}


EXPECTED = {"train.en.gz": b"".join(LINES[:8]), "test.en.gz": b"".join(LINES[8:]), "words.txt.gz": b"words\n"}


def test_files_come_from_their_addresses(server, toy, tmp_path):
    notes = Notes()
    manifest = toy().build(tmp_path / "toy", runtime=Runtime(progress=notes))
    assert read(tmp_path / "toy") == EXPECTED
    assert manifest.counts == {"train.en.gz": 8, "test.en.gz": 2, "words.txt.gz": 1}
    assert notes.notes == ["licence of toy-archive: CC0 (https://example.org/toy)"]
    assert len(server.requests) == 3  # a piece that two files share is downloaded once
    assert not (cache_folder() / "corpora" / "toy-archive").exists()
    told = tomllib.loads((tmp_path / "toy" / "manifest.toml").read_text())
    assert (told["corpus"], told["licence"], told["home"]) == ("toy-archive", "CC0", "https://example.org/toy")
    assert told["files"][1] == {
        "name": "test.en.gz",
        "sha256": sha256(EXPECTED["test.en.gz"]),
        "urls": [f"{server.url}/set/all.000", f"{server.url}/set/all.001"],
        "lines": 2,
    }


def test_a_corpus_that_was_built_is_a_folder_and_a_mirror(server, toy, tmp_path):
    toy().build(tmp_path / "one")
    toy(folder=tmp_path / "one").build(tmp_path / "two")
    server.files = {f"/mirror/{path.name}": path.read_bytes() for path in (tmp_path / "one").iterdir()}
    server.requests.clear()
    toy(mirror=f"{server.url}/mirror/").build(tmp_path / "three")
    assert {path for path, _ in server.requests} == {f"/mirror/{name}" for name in EXPECTED}
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two", "three")]
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("below", [".", "set"])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_folder_may_hold_what_was_published(server, toy, tmp_path, below, compressed):
    copy = tmp_path / "copy" / below
    copy.mkdir(parents=True)
    for path, data in server.files.items():
        name = path.rpartition("/")[2]
        if compressed and not name.endswith(".gz"):
            name, data = f"{name}.gz", gzip.compress(data)
        (copy / name).write_bytes(data)
    # Another file of the corpus happens to have the name of ours.
    (copy / "test.en").write_bytes(b"something else\n")
    toy(folder=tmp_path / "copy").build(tmp_path / "toy")
    assert read(tmp_path / "toy") == EXPECTED
    assert server.requests == []


def test_other_bytes_are_refused_and_downloaded_anew(server, toy, tmp_path):
    right = server.files["/set/all.001"]
    server.files["/set/all.001"] = right.replace(b"9", b"x")
    with pytest.raises(DataError, match=r"all\.000: the text of test\.en\.gz has SHA-256 \w{64}; expected \w{64}$"):
        toy().build(tmp_path / "toy")
    assert list(tmp_path.iterdir()) == []
    server.files["/set/all.001"] = right
    toy().build(tmp_path / "toy")
    assert read(tmp_path / "toy") == EXPECTED


def test_a_build_that_broke_off_continues(server, toy, tmp_path):
    server.breaks = [len(server.files["/set/all.000"]), 5, 0, 0, 0]
    with pytest.raises(DataError, match=r"all\.001 cannot be downloaded"):
        toy().build(tmp_path / "toy")
    assert list(tmp_path.iterdir()) == []
    server.requests.clear()
    toy().build(tmp_path / "toy")
    assert server.requests == [("/set/all.001", "bytes=5-"), ("/set/words.gz", None)]
    assert read(tmp_path / "toy") == EXPECTED


def test_folders_without_the_files(toy, tmp_path):
    with pytest.raises(UsageError, match=r"none is not a folder; expected one that has train\.en\.gz"):
        toy(folder=tmp_path / "none").build(tmp_path / "toy")
    with pytest.raises(DataError, match=r"has no train\.en\.gz; expected it, or all\.000 and all\.001"):
        toy(folder=tmp_path).build(tmp_path / "toy")
    (tmp_path / "train.en").write_bytes(b"wrong\n")
    with pytest.raises(DataError, match=r"the text of train\.en\.gz has SHA-256"):
        toy(folder=tmp_path).build(tmp_path / "toy")


def test_a_file_without_an_address_comes_from_a_folder_or_mirror(tmp_path):
    private = archive(ArchiveFile("train.en.gz", sha256(b"x\n")))
    with pytest.raises(UsageError, match=r"no public address of train\.en\.gz is known; expected a folder or a mirror"):
        private().build(tmp_path / "toy")
    with pytest.raises(
        UsageError, match=r"`dragoman corpora build wesnoth --option tokenised=true` makes a similar corpus$"
    ):
        WesnothTokenised().build(tmp_path / "toy")
    with pytest.raises(DataError, match=r"has no train\.en\.gz; expected it$"):
        private(folder=tmp_path).build(tmp_path / "toy")
    (tmp_path / "train.en").write_bytes(b"x\n")
    private(folder=tmp_path).build(tmp_path / "toy")
    assert read(tmp_path / "toy") == {"train.en.gz": b"x\n"}


def test_options_that_make_no_sense(toy, tmp_path):
    with pytest.raises(UsageError, match="both a folder and a mirror are given"):
        toy(folder=tmp_path, mirror="http://127.0.0.1/")
    with pytest.raises(UsageError, match="found the mirror 'file:///etc'; expected an address that begins with http"):
        toy(mirror="file:///etc")


def test_an_archive_replaces_its_own_files_only(toy, tmp_path):
    for _ in range(2):
        toy().build(tmp_path / "toy")
    (tmp_path / "toy" / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match=r"holds mine\.txt that Dragoman did not write"):
        toy().build(tmp_path / "toy")
