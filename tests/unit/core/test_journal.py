"""Journals know of every line whether it, and all before it, is as it was written."""

import pytest

from dragoman.core.errors import DataError
from dragoman.core.journal import Journal, seal, unseal


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path / "log.jsonl")
    for number in (1, 2, 3):
        journal.append({"number": number, "word": "é\n", "files": {"a": number}})
    return journal


def test_entries_come_back_in_order(journal):
    lines = journal.read().lines
    assert [line.entry for line in lines] == [{"number": n, "word": "é\n", "files": {"a": n}} for n in (1, 2, 3)]
    assert [line.files for line in lines] == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert journal.read().damaged is None
    assert Journal(journal.path).read().data == journal.path.read_bytes()


def test_nothing_is_read_of_a_journal_that_is_not_there(tmp_path):
    assert Journal(tmp_path / "none").read().lines == ()
    with pytest.raises(DataError, match="cannot be read"):
        Journal(tmp_path).read()


def test_what_stands_before_damage_is_whole(journal):
    whole = journal.path.read_bytes()
    ends = [line.end for line in journal.read().lines]
    for place in range(len(whole) - 1):
        journal.path.write_bytes(whole[:place] + bytes([whole[place] ^ 2]) + whole[place + 1 :])
        told = journal.read()
        assert len(told.lines) == sum(end <= place for end in ends)
        assert told.damaged is not None


def test_a_last_line_that_is_cut_off_does_not_count(journal):
    whole = journal.path.read_bytes()
    ends = [line.end for line in journal.read().lines]
    for size in range(len(whole) + 1):
        journal.path.write_bytes(whole[:size])
        assert len(journal.read().lines) == sum(end <= size for end in ends)
        assert journal.read().damaged is None


def test_what_is_appended_after_a_cut_is_whole(journal):
    whole = journal.path.read_bytes()
    journal.cut(1)
    assert len(journal.read().lines) == 1
    for number in (2, 3):
        journal.append({"number": number, "word": "é\n", "files": {"a": number}})
    assert journal.path.read_bytes() == whole
    journal.cut(0)
    assert journal.path.read_bytes() == b""


def test_older_lines_have_no_checksum_and_stand_before_those_that_have_one(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"number": 1}\n')
    journal = Journal(path)
    journal.append({"number": 2})
    assert [(line.entry["number"], line.checked) for line in journal.read().lines] == [(1, False), (2, True)]
    path.write_bytes(path.read_bytes() + b'{"number": 3}\n')
    assert (len(journal.read().lines), journal.read().damaged) == (2, b'{"number": 3}')
    path.write_bytes(b'{"number": 7}\n' + path.read_bytes().splitlines(keepends=True)[1])
    assert len(journal.read().lines) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b'{"files": {}}',  # a checksum is missing
        b'{"number": 1, "checksum": 7}',
        b'{"number": 1, "checksum": "7"}',
        seal({"number": 1}).replace(b"checksum", b"checksun"),
        seal({"number": 1, "files": {}}).replace(b"checksum", b"checksun"),
        b"[" * 100_000,
    ],
)
def test_what_is_no_entry(data):
    found = unseal(data)
    assert found is None or not found[1]
    if b"files" in data or b'"checksum"' in data:
        assert found is None
