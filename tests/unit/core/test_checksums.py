"""Files that have been checked: remembered until they change."""

import os
import time

import pytest

from dragoman.core import store as checksums
from dragoman.core.store import fingerprint, is_verified, remember_verified


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = tmp_path / "file"
    found.write_text("one")
    os.utime(found, ns=(10**18, 10**18))
    return found


def test_what_is_remembered_is_the_file_as_it_is(file):
    mark = fingerprint([file])
    assert not is_verified(mark)
    remember_verified(mark)
    assert is_verified(mark)
    os.utime(file, ns=(10**18, 10**18 + 1))
    assert not is_verified(fingerprint([file]))
    os.utime(file, ns=(10**18, 10**18))
    assert is_verified(fingerprint([file]))
    file.write_text("four")
    os.utime(file, ns=(10**18, 10**18))
    assert not is_verified(fingerprint([file]))


def test_a_file_in_its_place_is_another(file):
    remember_verified(fingerprint([file]))
    other = file.with_name("other")
    other.write_text("two")
    os.utime(other, ns=(10**18, 10**18))
    other.replace(file)
    assert not is_verified(fingerprint([file]))


@pytest.mark.parametrize("seconds", [0, 3600])
def test_a_file_that_may_yet_change_has_no_fingerprint(file, seconds):
    """One just written, and one from the future."""
    now = time.time_ns() + seconds * 10**9
    os.utime(file, ns=(now, now))
    assert fingerprint([file]) is None


def test_only_the_last_are_kept(file, monkeypatch):
    monkeypatch.setattr(checksums, "_MAX_MARKS", 2)
    for mark in "abca":
        remember_verified(mark)
    assert [is_verified(mark) for mark in "abc"] == [True, False, True]
    assert [path.name for path in (file.parent / "cache" / "dragoman").iterdir()] == ["verified"]


def test_a_damaged_cache_is_an_empty_one(file):
    remember_verified("a")
    (file.parent / "cache" / "dragoman" / "verified").write_bytes(b"\xff\x00a")
    assert not is_verified("a")
    remember_verified("b")
    assert is_verified("b")


def test_without_the_variable_it_is_in_the_home_folder(file, monkeypatch):
    monkeypatch.setenv("HOME", str(file.parent))
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        remember_verified(f"mark{value}")
        assert f"mark{value}" in (file.parent / ".cache" / "dragoman" / "verified").read_text().split()
