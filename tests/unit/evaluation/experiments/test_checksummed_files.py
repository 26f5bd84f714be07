"""Files of an experiment that something has damaged are named, with their cell; what is missing is made."""

import pytest

from dragoman.core.errors import DataError
from dragoman.evaluation.experiments.checksummed_files import FileRecord


@pytest.fixture
def cell(tmp_path):
    folder = tmp_path / "runs" / "mert" / "3"
    for name in ("tests/news/final.txt", "decisions/mbr.toml"):
        FileRecord(folder).write(folder / name, name.encode())
    return folder


def test_whole_files_are_there(cell):
    files = FileRecord(cell)
    assert files.has(cell / "tests/news/final.txt")
    assert files.verified(cell / "decisions/mbr.toml").read_bytes() == b"decisions/mbr.toml"
    assert not files.is_older


def test_a_damaged_file_is_refused_with_its_cell_and_made_anew_once_it_is_removed(cell):
    file = cell / "tests/news/final.txt"
    for data in (b"tests/news/finam.txt", b""):
        file.write_bytes(data)
        for look in (FileRecord(cell).has, FileRecord(cell).verified):
            with pytest.raises(
                DataError, match=r"final\.txt: is damaged \(mert, seed 3\); expected checksum .*; remove"
            ):
                look(file)
    file.unlink()
    assert not FileRecord(cell).has(file)
    with pytest.raises(DataError, match=r"final\.txt: is missing \(mert, seed 3\); .* run it again"):
        FileRecord(cell).verified(file)


def test_the_order_in_which_files_were_written_does_not_matter(cell, tmp_path):
    other = tmp_path / "runs" / "mert" / "8"
    for name in ("decisions/mbr.toml", "tests/news/final.txt"):
        FileRecord(other).write(other / name, name.encode())
    assert (other / "files.json").read_bytes() == (cell / "files.json").read_bytes()


def test_every_change_of_the_record_is_found(cell):
    file = cell / "files.json"
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DataError, match=r"files\.json: is damaged \(mert, seed 3\)"):
            FileRecord(cell).has(cell / "decisions/mbr.toml")


def test_without_a_record_files_are_as_older_versions_left_them(cell):
    (cell / "files.json").unlink()
    (cell / "decisions/mbr.toml").write_bytes(b"changed")
    assert FileRecord(cell).is_older
    assert FileRecord(cell).has(cell / "decisions/mbr.toml")


def test_a_file_that_the_record_does_not_know_is_made_again(cell):
    (cell / "tests/news/000.txt").write_bytes(b"strange")
    assert not FileRecord(cell).has(cell / "tests/news/000.txt")
