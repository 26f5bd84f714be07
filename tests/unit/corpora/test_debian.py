import os
import shutil
from pathlib import Path

import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.corpora.debian import find_packages, read_packages

needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")


class Notes(Progress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@pytest.fixture
def fake_programs(tmp_path, monkeypatch):
    """Return a function that puts a shell script before all programs of its name."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)

    def fake(name, script):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return fake


def read(names, folder=None, runtime=Runtime()):
    return read_packages(names, lambda path: path.endswith(".txt"), licence="MIT", folder=folder, runtime=runtime)


@needs_dpkg
def test_wanted_files_of_a_folder_of_packages(make_package, tmp_path):
    make_package("tool-a", "1:2-3", {"usr/a.txt": "A", "usr/a.png": "no"})
    make_package("tool-b", "5", {"usr/share/b.txt": "B"})
    contents = read(["tool-b", "tool-a"], tmp_path)
    assert contents.files == {"/usr/share/b.txt": b"B", "/usr/a.txt": b"A"}
    assert [(p.name, p.version) for p in contents.packages] == [("tool-b", "5"), ("tool-a", "1:2-3")]
    assert find_packages(r"tool-\w", tmp_path) == ["tool-a", "tool-b"]
    with pytest.raises(UsageError, match=r"has no package tool-c; expected a file tool-c_VERSION_ARCHITECTURE\.deb"):
        read(["tool-c"], tmp_path)


@needs_dpkg
def test_packages_are_downloaded_if_not_installed(make_package, tmp_path, fake_programs):
    package = make_package("tool-a", "1", {"usr/a.txt": "A"})
    fake_programs("dpkg-query", "exit 1")
    fake_programs(
        "apt-get", f'echo "Get:1 tool-a [1 kB]"; echo "W: odd" >&2; test "$*" = "download tool-a" && cp {package} .'
    )
    progress = Notes()
    assert read(["tool-a"], runtime=Runtime(progress=progress)).files == {"/usr/a.txt": b"A"}
    assert progress.notes == ["Get:1 tool-a [1 kB]"]


def test_what_is_installed_is_read_in_place(tmp_path, fake_programs):
    (tmp_path / "a.txt").write_text("A")
    fake_programs("dpkg-query", f'test "$1" = -L && echo {tmp_path}/a.txt || echo -n "installed 1:7"')
    contents = read(["tool-a"])
    assert contents.files == {str(tmp_path / "a.txt"): b"A"}
    assert contents.packages[0].version == "1:7"


def test_a_failed_download_says_what_apt_said(fake_programs):
    fake_programs("dpkg-query", "exit 1")
    fake_programs("apt-get", 'echo "Reading"; echo "E: Unable to locate package tool-a" >&2; exit 100')
    with pytest.raises(DataError, match=r"could not download tool-a \(Unable to locate package tool-a\)"):
        read(["tool-a"])


def test_missing_programs_are_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs the program apt-cache, which is not installed"):
        find_packages("x", None)
    with pytest.raises(UsageError, match="needs the program apt-get, which is not installed"):
        read(["tool-a"])


@needs_dpkg
def test_a_damaged_package_is_named(make_package, tmp_path):
    file = make_package("tool-a", "1", {"usr/a.txt": "A" * 10_000})
    file.write_bytes(file.read_bytes()[:-9000])
    with pytest.raises(DataError, match=r"tool-a_1_all\.deb"):
        read(["tool-a"], tmp_path)


def test_no_such_folder():
    with pytest.raises(UsageError, match=r"nowhere is not a folder; expected one with \.deb files"):
        find_packages("x", Path("nowhere"))
