import bz2
import errno
import gzip
import io
import lzma
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import zstandard

from dragoman.core.errors import DataError
from dragoman.core.files import open_input, open_output, output_folder, read_chunks, read_lines

COMPRESSORS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
#: The file by which a model's folder is known.
MARK = "model.toml"
LINES = b"".join(b"line %d of the file\n" % n for n in range(20000))


def content(path, **options):
    return b"".join(chunk.data for chunk in read_chunks(path, **options))


class FullDisk(io.BytesIO):
    def write(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def dead_pid():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_compression_is_known_by_content_not_by_name(tmp_path, kind):
    path = tmp_path / "text"
    path.write_bytes(COMPRESSORS[kind](LINES))
    assert content(path) == LINES


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_concatenated_compressed_streams_are_one_file(tmp_path, kind):
    path = tmp_path / "text"
    path.write_bytes(COMPRESSORS[kind](LINES) + COMPRESSORS[kind](b"more\n"))
    assert content(path) == LINES + b"more\n"


@pytest.mark.parametrize("kind", ["gz", "xz"])
def test_zero_padding_after_a_stream_is_no_damage(tmp_path, kind):
    path = tmp_path / "text"
    path.write_bytes(COMPRESSORS[kind](LINES) + bytes(8))
    assert content(path) == LINES


@pytest.mark.parametrize("kind", COMPRESSORS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_truncated_compressed_files_are_refused_with_the_line_that_was_reached(tmp_path, kind, share):
    path = tmp_path / "text"
    data = COMPRESSORS[kind](LINES)
    path.write_bytes(data[: int(len(data) * share)])
    read = []
    with pytest.raises(DataError, match="damaged or cut off") as error:
        read.extend(chunk.data for chunk in read_chunks(path))
    assert LINES.startswith(b"".join(read))
    assert error.value.line == b"".join(read).count(b"\n") + 1


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_every_truncation_of_a_small_file_is_refused(tmp_path, kind):
    path = tmp_path / "text"
    data = COMPRESSORS[kind](b"a b c\n")
    for length in range(6, len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(DataError, match=f"{path}:"):
            content(path)


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_damaged_and_trailing_bytes_are_refused(tmp_path, kind):
    path = tmp_path / "text"
    data = bytearray(COMPRESSORS[kind](LINES))
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DataError, match="damaged"):
        content(path)
    path.write_bytes(COMPRESSORS[kind](LINES) + b"rubbish")
    with pytest.raises(DataError, match="damaged"):
        content(path)


def test_decompressing_reads_exactly_what_is_asked_for(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(LINES))
    with open_input(path) as stream:
        assert stream.read(0) == b""
        assert stream.read(5) + stream.read(7) == LINES[:12]
        assert stream.read() == LINES[12:]
        assert stream.read(1) == b""
    with io.TextIOWrapper(open_input(path), "utf-8") as text:
        assert text.readline() == "line 0 of the file\n"


@pytest.mark.parametrize("chunk_bytes", [3, 7, 64, 1 << 20])
def test_chunks_hold_whole_lines_and_know_their_number(tmp_path, chunk_bytes):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbf" + LINES[:2000])
    line = 1
    for chunk in read_chunks(path, chunk_bytes):
        assert chunk.first_line == line
        assert chunk.data.endswith(b"\n")
        line += chunk.data.count(b"\n")
    assert content(path, chunk_bytes=chunk_bytes) == LINES[:2000].removesuffix(b"\n") + b"\n"


def test_only_a_newline_ends_a_line(tmp_path):
    path = tmp_path / "text"
    text = "a\u2028b\u00a0c\x0bd\x0ce\x85f\x00g\rh\r\nlast"
    path.write_bytes(text.encode())
    assert list(read_lines(path)) == ["a\u2028b\u00a0c\x0bd\x0ce\x85f\x00g\rh", "last"]


@pytest.mark.parametrize(("data", "lines"), [(b"", []), (b"\n", [""]), (b"\xef\xbb\xbf", []), (b"\n\n", ["", ""])])
def test_files_with_hardly_anything(tmp_path, data, lines):
    path = tmp_path / "text"
    path.write_bytes(data)
    assert list(read_lines(path)) == lines


@pytest.mark.parametrize("chunk_bytes", [16, 1 << 20])
def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path, chunk_bytes):
    path = tmp_path / "text"
    path.write_bytes("ä\n".encode() * 100 + b"caf\xe9\n" + b"fine\n")
    with pytest.raises(DataError, match=r"text:101: byte 0xe9 is not UTF-8; expected UTF-8 text"):
        content(path, chunk_bytes=chunk_bytes)


def test_missing_files_and_folders_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match=r"no-such-file: cannot be read \(No such file"):
        open_input(tmp_path / "no-such-file")
    with pytest.raises(DataError, match="Is a directory"):
        open_input(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        open_input("a\0b")


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(b"a\n")))))
    assert list(read_lines("-")) == ["a"]
    with pytest.raises(DataError, match="standard input was read before"):
        list(read_lines("-"))


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_what_is_written_can_be_read_and_is_the_same_each_time(tmp_path, ending):
    first, second = tmp_path / f"a{ending}", tmp_path / "folder" / f"b{ending}"
    for path in (first, second):
        with open_output(path) as stream:
            stream.write(LINES)
    assert content(first) == LINES
    assert first.read_bytes() == second.read_bytes()
    assert (len(first.read_bytes()) < len(LINES)) == bool(ending)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.gz"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), open_output(path) as stream:
        stream.write(b"new" * (1 // 0))
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file.gz"]


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_a_full_disk_is_a_sentence_and_changes_nothing(tmp_path, monkeypatch, ending):
    path = tmp_path / f"file{ending}"
    path.write_bytes(b"old")

    real_open = Path.open
    monkeypatch.setattr(Path, "open", lambda self, mode="r": FullDisk() if mode == "wb" else real_open(self, mode))
    expected = "could not be written: the disk is full; nothing was changed"
    with pytest.raises(DataError, match=expected), open_output(path) as stream:
        stream.write(LINES)
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == [path.name]


def test_devices_are_written_to_and_not_replaced():
    with pytest.raises(DataError, match="the disk is full"), open_output("/dev/full") as stream:
        stream.write(LINES)
    with open_output("/dev/null") as stream:
        stream.write(LINES)
    assert not Path("/dev/null").is_file()


def test_a_folder_is_not_written_over_by_a_file(tmp_path):
    with pytest.raises(DataError, match="is a folder"), open_output(tmp_path):
        pass
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="could not be written"), open_output(tmp_path / "file" / "below"):
        pass


def test_a_reader_that_went_away_stays_a_broken_pipe(tmp_path):
    with pytest.raises(BrokenPipeError), open_output(tmp_path / "file"):
        raise BrokenPipeError


def test_what_killed_writers_left_of_a_file_is_cleared_by_the_next(tmp_path):
    dead, alive = dead_pid(), os.getppid()
    (tmp_path / f".x.partial-{dead}").write_text("left")
    (tmp_path / f".x.partial-{alive}-0123abcd").write_text("its number is another's now")
    (tmp_path / f".model.partial-{dead}").mkdir()
    (tmp_path / f".model.old-{dead}").mkdir()
    kept = [f".model.partial-{alive}", ".model.partial-²", ".model.partial-99999999999999999999", ".model.other"]
    for name in kept:
        (tmp_path / name).mkdir()
    (tmp_path / "model").mkdir()
    with open_output(tmp_path / "x") as stream:
        stream.write(b"x")
    with output_folder(tmp_path / "model") as folder:
        (folder / "part").write_text("new")
    assert names(tmp_path) == sorted([*kept, "model", "x"])


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    with open_output(tmp_path / "x") as first:
        first.write(b"first")
        with open_output(tmp_path / "x") as second:
            second.write(b"second")
        assert (tmp_path / "x").read_bytes() == b"second"
    assert (tmp_path / "x").read_bytes() == b"first"
    assert names(tmp_path) == ["x"]


def test_two_writers_of_one_folder_do_not_disturb_each_other(tmp_path):
    with output_folder(tmp_path / "model") as first:
        (first / MARK).write_text("first")
        with output_folder(tmp_path / "model") as second:
            (second / MARK).write_text("second")
        assert (tmp_path / "model" / MARK).read_text() == "second"
    assert (tmp_path / "model" / MARK).read_text() == "first"
    assert names(tmp_path) == ["model"]


def test_a_folder_with_something_that_is_not_ours_is_not_replaced(tmp_path):
    final = tmp_path / "model"
    (final / "photos").mkdir(parents=True)
    for name in ("photos/me.jpg", "photos/you.jpg", "thesis.pdf", MARK):
        (final / name).write_text("precious")
    found = f"^{final}: holds thesis.pdf, photos/ that Dragoman did not write; expected a folder of its own$"
    for _ in range(2):
        with pytest.raises(DataError, match=found), output_folder(final):
            raise AssertionError("not reached")
    (final / "photos").rename(tmp_path / "photos")
    (final / "thesis.pdf").unlink()
    with pytest.raises(DataError, match="holds notes that"), output_folder(final):
        (final / "notes").write_text("written since")
    assert names(final) == [MARK, "notes"]
    assert names(tmp_path) == ["model", "photos"]


def test_a_link_in_the_place_of_a_folder_is_replaced_and_what_it_leads_to_stays(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.pdf").write_text("precious")
    (tmp_path / "model").symlink_to("home")
    with output_folder(tmp_path / "model") as folder:
        (folder / MARK).write_text("new")
    assert names(tmp_path) == ["home", "model"]
    assert names(tmp_path / "home") == ["thesis.pdf"]
    assert names(tmp_path / "model") == [MARK]


def test_a_folder_name_with_glob_characters(tmp_path):
    dead = dead_pid()
    (tmp_path / f".[ab]*.partial-{dead}").mkdir()
    (tmp_path / f".axx.partial-{dead}").mkdir()
    with output_folder(tmp_path / "[ab]*"):
        pass
    assert names(tmp_path) == [f".axx.partial-{dead}", "[ab]*"]


def test_a_folder_whose_swap_was_interrupted_comes_back(tmp_path):
    old = tmp_path / f".model.old-{dead_pid()}"
    old.mkdir()
    (old / MARK).write_text("old")
    with pytest.raises(ZeroDivisionError), output_folder(tmp_path / "model"):
        raise ZeroDivisionError
    assert (tmp_path / "model" / MARK).read_text() == "old"


def test_an_output_folder_that_cannot_take_its_name_leaves_the_old_one(tmp_path):
    final = tmp_path / "model"
    final.mkdir()
    (final / MARK).write_text("precious")
    with pytest.raises(DataError, match="nothing was changed"), output_folder(final) as folder:
        folder.rmdir()
    assert names(final) == [MARK]
    assert names(tmp_path) == ["model"]


def test_if_even_that_fails_the_old_one_is_not_deleted(tmp_path, monkeypatch):
    final = tmp_path / "model"
    final.mkdir()
    (final / MARK).write_text("precious")
    renames, rename = [], Path.rename

    def failing(self, target):
        renames.append(self.name)
        if len(renames) >= 2:
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(DataError, match=r"error\); what was there is now") as caught, output_folder(final):
        pass
    (left,) = tmp_path.iterdir()
    assert str(caught.value).endswith(str(left))
    assert (left / MARK).read_text() == "precious"


def test_the_folder_that_one_stands_in_can_be_named(tmp_path, monkeypatch):
    inside = tmp_path / "here"
    inside.mkdir()
    monkeypatch.chdir(inside)
    with output_folder(".") as folder:
        (folder / "file").write_text("x")
    assert (tmp_path / "here" / "file").read_text() == "x"


def test_a_line_that_does_not_end_is_refused_before_memory_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr("dragoman.core.files.LONGEST_LINE", 10_000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"short\n" + b"x" * 1_000_000))
    with pytest.raises(DataError, match=r"bomb.gz:2: is longer than 10,000 bytes"):
        list(read_chunks(tmp_path / "bomb.gz", 4096))


def test_a_long_line_takes_linear_time(tmp_path):
    (tmp_path / "long").write_bytes(b"y" * 3_000_000 + b"\nend\n")
    start = time.perf_counter()
    (first, second) = read_lines(tmp_path / "long")
    whole = time.perf_counter() - start
    start = time.perf_counter()
    pieces = [chunk.data for chunk in read_chunks(tmp_path / "long", 64)]
    assert b"".join(pieces) == b"y" * 3_000_000 + b"\nend\n"
    assert time.perf_counter() - start < 20 * whole + 2  # 47,000 pieces; a copy of all for each would take minutes
    assert (len(first), second) == (3_000_000, "end")


def test_blocks_are_the_lines_that_are_there(tmp_path):
    code = "from dragoman.core.files import read_blocks\nfor block in read_blocks('-'): print(block, flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        _feed(process)


def _feed(process):
    process.stdin.write("one\ntwo\nthr")
    process.stdin.flush()
    assert process.stdout.readline() == "['one', 'two']\n"
    process.stdin.write("ee\n")
    process.stdin.flush()
    assert process.stdout.readline() == "['three']\n"
    process.stdin.close()
    assert process.wait(20) == 0


def test_an_output_folder_is_whole_or_not_there(tmp_path):
    final = tmp_path / "deep" / "model"
    with output_folder(final) as folder:
        (folder / MARK).write_text("1")
        assert not final.exists()
    assert [entry.name for entry in final.iterdir()] == [MARK]
    with pytest.raises(ZeroDivisionError), output_folder(final) as folder:
        (folder / "weights.txt").write_text("2" * (1 // 0))
    assert [entry.name for entry in final.iterdir()] == [MARK]
    with output_folder(final) as folder:
        (folder / "weights.txt").write_text("2")
    assert [entry.name for entry in final.iterdir()] == ["weights.txt"]
    assert names(final.parent) == ["model"]


def test_an_output_folder_on_a_full_disk(tmp_path):
    with (
        pytest.raises(DataError, match="model: could not be written: the disk is full"),
        output_folder(tmp_path / "model"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []


def test_a_file_in_the_place_of_a_folder_is_kept(tmp_path):
    (tmp_path / "model").write_text("precious")
    with pytest.raises(DataError, match="is not a folder"), output_folder(tmp_path / "model"):
        pass
    assert (tmp_path / "model").read_text() == "precious"


def test_standard_output(capfdbinary):
    with open_output("-") as stream:
        stream.write("é\n".encode())
    assert capfdbinary.readouterr().out == "é\n".encode()


def test_standard_output_to_a_full_disk(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(FullDisk()))
    expected = "standard output: could not be written: the disk is full"
    with pytest.raises(DataError, match=expected), open_output("-") as stream:
        stream.write(b"x")
