import pytest

from dragoman.core.errors import BusyError, DataError
from dragoman.core.own_files import hold
from dragoman.corpora.download import download

DATA = bytes(range(256)) * 1000


@pytest.fixture
def file(server):
    server.files["/data"] = DATA
    return f"{server.url}/data"


def test_a_file_is_downloaded_once(server, file, tmp_path):
    shares = []
    download(file, tmp_path / "new" / "data", shares.append)
    assert (tmp_path / "new" / "data").read_bytes() == DATA
    assert shares == sorted(shares)
    assert shares[-1] == 1
    download(file, tmp_path / "new" / "data")
    assert server.requests == [("/data", None)]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["data"]


def test_a_broken_connection_is_continued(server, file, tmp_path):
    server.breaks = [1000, 500]
    download(file, tmp_path / "data")
    assert (tmp_path / "data").read_bytes() == DATA
    assert server.requests == [("/data", None), ("/data", "bytes=1000-"), ("/data", "bytes=1500-")]


def test_a_later_call_continues_what_an_earlier_one_left(server, file, tmp_path):
    server.breaks = [1000, 0, 0, 0]
    with pytest.raises(
        DataError, match=r"data cannot be downloaded \(the connection broke after 1,000 of 256,000 bytes"
    ):
        download(file, tmp_path / "data")
    assert not (tmp_path / "data").exists()
    assert (tmp_path / "data.part").stat().st_size == 1000
    download(file, tmp_path / "data")
    assert server.requests[-1] == ("/data", "bytes=1000-")
    assert (tmp_path / "data").read_bytes() == DATA


def test_a_server_without_ranges_sends_everything_again(server, file, tmp_path):
    server.knows_ranges = False
    server.breaks = [1000]
    download(file, tmp_path / "data")
    assert (tmp_path / "data").read_bytes() == DATA


@pytest.mark.parametrize("size", [len(DATA), len(DATA) + 7])
def test_a_part_that_is_no_shorter_than_the_file_is_dropped(server, file, tmp_path, size):
    (tmp_path / "data.part").write_bytes(b"x" * size)
    download(file, tmp_path / "data")
    assert (tmp_path / "data").read_bytes() == DATA


def test_another_part_than_asked_for_is_not_appended(server, file, tmp_path):
    (tmp_path / "data.part").write_bytes(DATA[:100])
    server.shift = 5
    download(file, tmp_path / "data")
    assert (tmp_path / "data").read_bytes() == DATA


def test_errors_name_the_address(server, tmp_path):
    with pytest.raises(DataError, match=rf"{server.url}/none cannot be downloaded \(HTTP 404 Not Found\)"):
        download(f"{server.url}/none", tmp_path / "none")
    assert len(server.requests) == 1
    gone = server.url.rpartition(":")[0] + ":9"
    with pytest.raises(DataError, match=r":9/data cannot be downloaded \(.*refused"):
        download(f"{gone}/data", tmp_path / "data")


def test_two_processes_do_not_write_one_part(file, tmp_path):
    with (tmp_path / "data.part").open("ab") as other:
        assert hold(other)
        with pytest.raises(BusyError, match="is being downloaded by another process"):
            download(file, tmp_path / "data")
