"""Fuzzing readers: how many examples, damaged versions of valid files, and what every reader must stand."""

import contextlib
import gzip
import os

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dragoman.core.errors import DragomanError
from dragoman.core.files import read_chunks
from dragoman.core.progress import Progress


class Quiet(Progress):
    def warn(self, text):
        pass


QUIET = Quiet()

fuzz = settings(
    max_examples=int(os.environ.get("DRAGOMAN_FUZZ_EXAMPLES", "40")),
    deadline=None,
    # One method is run for several classes of tests, which is meant.
    suppress_health_check=[
        HealthCheck.differing_executors,
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
    ],
)


@st.composite
def mutations(draw, data, pieces):
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 12))
        match draw(st.sampled_from(["flip", "delete", "cut", "repeat", "insert", "move"])):
            case "flip" if at < len(data):
                data = data[:at] + bytes([data[at] ^ draw(st.integers(1, 255))]) + data[at + 1 :]
            case "delete":
                data = data[:at] + data[at + length :]
            case "cut":
                data = data[:at]
            case "repeat":
                data = data[: at + length] + data[at:]
            case "insert":
                data = data[:at] + draw(st.sampled_from(pieces)) + data[at:]
            case "move":
                lines = data.split(b"\n")
                line = lines.pop(draw(st.integers(0, len(lines) - 1)))
                lines.insert(draw(st.integers(0, len(lines))), line)
                data = b"\n".join(lines)
    return data


class ReaderFuzzing:
    """Whatever a file holds, a reader gives a sound result or says what is wrong; never anything else.

    The fixture `reader` of a module that derives its tests from this reads bytes and looks whether what comes out is
    sound; its attribute `valid` is a file that is.
    """

    #: What readers care about, so that mutations hit more than the nearest "not a number".
    pieces = ()
    #: The modules of readers that read chunks.
    chunked = ()

    def test_the_unchanged_files_are_fine(self, reader):
        reader(reader.valid)
        reader(gzip.compress(reader.valid))
        reader(b"\xef\xbb\xbf" + reader.valid.replace(b"\n", b"\r\n"))

    @fuzz
    @given(st.data())
    def test_arbitrary_bytes(self, reader, data):
        made_of_pieces = st.lists(st.sampled_from(self.pieces), max_size=30).map(b"".join)
        with contextlib.suppress(DragomanError):
            reader(data.draw(st.binary(max_size=200) | made_of_pieces))

    @fuzz
    @given(st.data())
    def test_mutations(self, reader, data):
        with contextlib.suppress(DragomanError):
            reader(data.draw(mutations(reader.valid, self.pieces)))

    @fuzz
    @given(st.data(), st.sampled_from([8, 64]))
    def test_mutations_in_small_chunks(self, reader, data, chunk_bytes):
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(DragomanError):
            for module in self.chunked:
                patch.setattr(module, "read_chunks", lambda path: read_chunks(path, chunk_bytes))
            reader(data.draw(mutations(reader.valid, self.pieces)))

    @fuzz
    @given(st.data())
    def test_mutations_of_compressed_files(self, reader, data):
        with contextlib.suppress(DragomanError):
            reader(data.draw(mutations(gzip.compress(reader.valid, mtime=0), self.pieces)))

    @fuzz
    @given(st.data())
    def test_compressed_mutations(self, reader, data):
        with contextlib.suppress(DragomanError):
            reader(gzip.compress(data.draw(mutations(reader.valid, self.pieces))))
