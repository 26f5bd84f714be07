"""Read and write files: compression by content, UTF-8 in any locale, and never half-written.

Everything that is read goes through `open_input` or `read_chunks`; everything that is written goes through
`open_output` or `output_folder`, which write under a temporary name and rename at the end.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, BinaryIO, Protocol, cast

import zstandard

from dragoman.core.errors import BusyError, DataError, write_error
from dragoman.core.own_files import (
    OwnFiles,
    clear_leftovers_of,
    hold,
    is_at,
    make_locked_folder,
    open_existing,
    refuse_foreign_files,
    remove_whole,
    temporary_name,
)

PathLike = str | os.PathLike[str]

_BLOCK_BYTES = 1 << 18
_DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


class _Decompressor(Protocol):
    """Common interface of the standard decompressors, which know when their stream ends."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


_KINDS: dict[bytes, Callable[[], _Decompressor]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lzma.LZMADecompressor,
    b"\x28\xb5\x2f\xfd": lambda: zstandard.ZstdDecompressor().decompressobj(),
}


class CompressionError(DataError):
    """Compressed data that is damaged or ends too early."""


def decompress(raw: io.BufferedReader, path: PathLike) -> io.BufferedIOBase:
    """Return the stream itself if it is not compressed, otherwise one that decompresses it (and closes it)."""
    head = raw.peek(6)
    for magic, kind in _KINDS.items():
        if head.startswith(magic):
            return _Decompressed(raw, kind, path)
    return raw


class _Decompressed(io.BufferedIOBase):
    """A decompressed stream; concatenated streams are read as one, and data before a damaged part can be read."""

    def __init__(self, raw: io.BufferedReader, kind: Callable[[], _Decompressor], path: PathLike):
        self._raw = raw
        self._kind = kind
        self._path = path
        self._decompressor = kind()
        self._ready = bytearray()
        self._ended = False
        self._error: CompressionError | None = None

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes, fewer only at the end or before a damaged part."""
        wanted = None if size is None or size < 0 else size
        while not (self._ended or self._error) and (wanted is None or len(self._ready) < wanted):
            try:
                self._fill()
            except _DAMAGED as error:
                self._error = CompressionError(f"the compressed data is damaged or cut off ({error})", path=self._path)
        if self._error and wanted != 0 and not self._ready:
            raise self._error
        data = bytes(self._ready[:wanted])
        del self._ready[:wanted]
        return data

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(_BLOCK_BYTES if size < 0 else size)

    def _fill(self) -> None:
        block = self._raw.read(_BLOCK_BYTES)
        if not block:
            if not self._decompressor.eof:
                raise EOFError("it ends in the middle")
            self._ended = True
        while block:
            if self._decompressor.eof:
                block = block.lstrip(b"\0")  # padding between streams
                if not block:
                    break
                self._decompressor = self._kind()
            self._ready += self._decompressor.decompress(block)
            block = self._decompressor.unused_data if self._decompressor.eof else b""

    def close(self) -> None:
        try:
            self._raw.close()
        finally:
            super().close()


_CHUNK_BYTES = 1 << 24

#: Longest line in bytes: a longer one is not text, or never ends.
LONGEST_LINE = 1 << 28


def open_input(path: PathLike) -> BinaryIO:
    """Open a file for reading bytes; it is decompressed by its content, not its name. `-` is standard input."""
    try:
        if os.fspath(path) != "-":
            raw = Path(path).open("rb")  # noqa: SIM115 - the caller closes it
        elif sys.stdin.buffer.closed:
            raise DataError("standard input was read before", path=path, expected="to read it only once")
        else:
            raw = cast(io.BufferedReader, sys.stdin.buffer)
        return cast(BinaryIO, decompress(raw, path))
    except (OSError, ValueError) as error:  # a ValueError if the name holds a NUL
        raise DataError(f"cannot be read ({getattr(error, 'strerror', None) or error})", path=path) from None


@dataclass(frozen=True)
class Chunk:
    """Complete lines of a file, ending in a newline, and the number of the first of them, from 1.

    If it is not `complete`, the last line has no newline in the file: it may be truncated. `share` is the fraction of
    the file that has been read, from 0 to 1, if it is known.
    """

    data: bytes
    first_line: int
    complete: bool = True
    share: float = 0.0

    def lines(self) -> list[str]:
        """Return the lines as strings, without newlines."""
        return [line.removesuffix("\r") for line in self.data.decode("utf-8").split("\n")[:-1]]


def read_chunks(path: PathLike, chunk_bytes: int = _CHUNK_BYTES, *, prompt: bool = False) -> Iterator[Chunk]:
    """Yield a text file in chunks of complete lines, checked to be UTF-8.

    Only `\\n` ends a line (a `\\r` before it counts as white space); a byte-order mark at the start is dropped; a
    last line without a newline gets one. With `prompt`, lines are yielded as soon as they have come.
    """
    line, length, started = 1, 0, False
    pieces: list[bytes] = []  # of a line that has not ended yet
    with contextlib.closing(open_input(path)) as stream:
        while True:
            try:
                block = stream.read1(chunk_bytes) if prompt else stream.read(chunk_bytes)  # type: ignore[attr-defined]
            except CompressionError as error:
                raise DataError(error.found, path=path, line=line) from None
            except OSError as error:
                raise DataError(f"cannot be read ({error.strerror or error})", path=path) from None
            if not block:
                if length:
                    yield replace(_checked(b"".join([*pieces, b"\n"]), path, line), complete=False, share=1.0)
                return
            if not started:
                block = block.removeprefix(b"\xef\xbb\xbf")
                started = True
            end = block.rfind(b"\n") + 1
            if end:
                data = b"".join([*pieces, block[:end]])
                yield replace(_checked(data, path, line), share=_share_read(stream))
                line += data.count(b"\n")
                pieces, length = [], 0
            pieces.append(block[end:])
            length += len(block) - end
            if length > LONGEST_LINE:
                raise DataError(
                    f"is longer than {LONGEST_LINE:,} bytes",
                    path=path,
                    line=line,
                    expected="lines that end before that",
                )


def _share_read(stream: BinaryIO) -> float:
    """Return the fraction of a file that has been read; 0 if it is not a regular file."""
    try:
        descriptor = stream.fileno()
        return os.lseek(descriptor, 0, os.SEEK_CUR) / max(os.fstat(descriptor).st_size, 1)
    except OSError:
        return 0.0


def _checked(data: bytes, path: PathLike, first_line: int) -> Chunk:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        raise DataError(
            f"byte 0x{data[error.start]:02x} is not UTF-8", path=path, line=line, expected="UTF-8 text"
        ) from None
    return Chunk(data, first_line)


def read_lines(path: PathLike) -> Iterator[str]:
    """Yield the lines of a text file as strings, without newlines."""
    for chunk in read_chunks(path):
        yield from chunk.lines()


def count_lines(path: PathLike) -> int:
    """Return the number of lines of a text file."""
    return sum(chunk.data.count(b"\n") for chunk in read_chunks(path))


def read_blocks(path: PathLike) -> Iterator[list[str]]:
    """Yield the lines of a text file in blocks, as they come, without waiting for more."""
    for chunk in read_chunks(path, prompt=True):
        yield chunk.lines()


@contextlib.contextmanager
def open_output(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a file for writing bytes, compressed by its ending (.gz .bz2 .xz .zst); `-` is standard output.

    The bytes go to a temporary file beside it, which is renamed only if the block succeeds.
    """
    if os.fspath(path) == "-":
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except OSError as error:
            raise write_error("standard output", error) from None
        return
    final = Path(path)
    if final.is_dir():
        raise DataError("is a folder", path=final, expected="a file to write, or a new name")
    if final.exists() and not final.is_file():  # a device or pipe, which must not be replaced
        try:
            with final.open("wb") as device, _compressor(device, final.suffix) as stream:
                yield stream
        except OSError as error:
            raise write_error(final, error) from None
        return
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        clear_leftovers_of(final)
        with _partial_file(final) as (partial, raw):
            with raw, _compressor(raw, final.suffix) as stream:
                yield stream
            partial.replace(final)
    except OSError as error:
        raise write_error(final, error) from None


@contextlib.contextmanager
def _partial_file(final: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """Open a file under a temporary name and lock it until the end, also after it is closed; then remove the name."""
    while True:
        partial = temporary_name(final, "partial")
        raw = partial.open("wb")
        known = hold(raw)
        if known is None or (known and is_at(partial, raw.fileno())):
            break
        raw.close()  # another process took it for a leftover before it was locked
    held = os.dup(raw.fileno()) if known else None
    try:
        yield partial, raw
    finally:
        with contextlib.suppress(OSError):
            raw.close()
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        if held is not None:
            os.close(held)


def _compressor(raw: IO[bytes], suffix: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    # No file name and no time in the header, so that the same content gives the same bytes.
    if suffix == ".gz":
        return cast(IO[bytes], gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0))
    if suffix == ".bz2":
        return bz2.BZ2File(raw, "wb")
    if suffix == ".xz":
        return lzma.LZMAFile(raw, "wb")
    if suffix == ".zst":
        return cast(IO[bytes], zstandard.ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False))
    return contextlib.nullcontext(raw)


@contextlib.contextmanager
def output_folder(path: PathLike, kind: OwnFiles | None = None) -> Iterator[Path]:
    """Write a folder completely or not at all: yield a temporary folder, which is renamed if the block succeeds.

    An older folder of that name is replaced only then, and only if Dragoman wrote all files in it: files of this
    `kind` of folder, or of the kind that its marker files say. Leftovers of killed processes are removed first.
    """
    final = Path(os.path.abspath(path))  # noqa: PTH100 - a name for `.` and `..`, and links stay links
    opened: list[int] = []
    partial = old = None
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        clear_leftovers_of(final)
        refuse_foreign_files(final, kind)
        partial, held = make_locked_folder(lambda: _made(temporary_name(final, "partial")))
        opened.append(held)
        yield partial
        if final.exists():
            refuse_foreign_files(final, kind)
            old = temporary_name(final, "old")
            _put_aside(final, old, opened)
        try:
            partial.rename(final)
        except OSError:
            if old is not None:
                _bring_back(old, final)
            raise
    except OSError as error:
        raise write_error(final, error) from None
    except DataError as error:  # a file in the folder, which users know by its final name
        if partial is None or error.path is None or not Path(error.path).is_relative_to(partial):
            raise
        raise DataError(str(error).replace(os.fspath(partial), os.fspath(final))) from None
    finally:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
        if old is not None and final.exists():  # otherwise only the old one is left
            remove_whole(old)
        for held in opened:
            os.close(held)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _put_aside(final: Path, old: Path, opened: list[int]) -> None:
    """Rename a folder and lock it, so that no other process restores it."""
    held = open_existing(final)
    if held is not None:
        opened.append(held)
        if hold(held) is False:
            raise BusyError("is being replaced by another process", path=final)
    final.rename(old)


def _bring_back(old: Path, final: Path) -> None:
    try:
        old.rename(final)
    except OSError as error:  # the next command that writes there tries again
        raise DataError(f"could not be written ({error.strerror}); what was there is now {old}", path=final) from None
