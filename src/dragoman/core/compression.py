"""Compressed files as streams: known by their first bytes, and never cut off unnoticed."""

from __future__ import annotations

import bz2
import io
import lzma
import os
import zlib
from collections.abc import Callable
from typing import Protocol

import zstandard

from dragoman.core.errors import DataError

_BLOCK_BYTES = 1 << 18
_DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


class _Decompressor(Protocol):
    """What the standard decompressors have in common: they take bytes and know when their stream is at its end."""

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


def decompressed(raw: io.BufferedReader, path: str | os.PathLike[str]) -> io.BufferedIOBase:
    """Return the stream itself if it is not compressed, else one that decompresses it and closes it in the end."""
    head = raw.peek(6)
    for magic, kind in _KINDS.items():
        if head.startswith(magic):
            return _Decompressed(raw, kind, path)
    return raw


class _Decompressed(io.BufferedIOBase):
    """Several streams one after the other are read as one; what comes before a damage can still be read."""

    def __init__(self, raw: io.BufferedReader, kind: Callable[[], _Decompressor], path: str | os.PathLike[str]):
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
        """Read that many bytes, fewer only at the end or before a damage."""
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
