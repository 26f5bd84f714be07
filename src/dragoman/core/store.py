"""Arrays on disk: one `.npy` file each, memory-mapped when read, never unpickled."""

from __future__ import annotations

import contextlib
import io
import math
import mmap
import os
import shutil
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError

Arrays = dict[str, NDArray[np.generic]]

#: What a file was when somebody looked: its device, number, size and time of change.
Origin = tuple[int, ...]

#: Whether arrays are read into memory in place of being mapped.
_COPIED: ContextVar[bool] = ContextVar("copied", default=False)


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write each array as `NAME.npy`; the same arrays give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        # The bytes of np.save, which does not say why it failed when a disk is full.
        with (folder / f"{name}.npy").open("wb") as stream:
            if (file := _mapped_file(array)) is None:
                np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
                stream.write(array.data)
            else:  # without the pages of the old file becoming memory of ours
                with file.open("rb") as old:
                    shutil.copyfileobj(old, stream, 1 << 22)


def _mapped_file(array: NDArray[np.generic]) -> Path | None:
    """The `.npy` file that this array is all of, if it is a mapped one that is still there."""
    whole = array.base
    if (
        not isinstance(whole, np.memmap)
        or whole.filename is None
        or (whole.shape, whole.dtype) != (array.shape, array.dtype)
    ):
        return None
    file = Path(whole.filename)
    try:
        return file if getattr(whole, "origin", None) == _origin(file.stat()) else None
    except OSError:
        return None


def _origin(status: os.stat_result) -> Origin:
    """What tells a file from one that took its name later."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def array_origins(folder: Path) -> dict[str, Origin]:
    """All files of arrays below a folder, as they are now."""
    return {str(path): _origin(path.stat()) for path in sorted(folder.rglob("*.npy"))}


def changed_in_place(origins: Mapping[str, Origin]) -> str | None:
    """A file that was written into since, if there is one: who has it mapped may crash when it is used.

    A file that was replaced or removed is whole for those who have it mapped.
    """
    for path, origin in origins.items():
        try:
            now = _origin(os.stat(path))  # noqa: PTH116 - a path object for each takes longer than the look
        except OSError:
            continue
        if now != origin and now[:2] == origin[:2]:
            return path
    return None


@contextlib.contextmanager
def copied_arrays() -> Iterator[None]:
    """Have arrays read into memory while this lasts, so that nobody can change them; otherwise they are mapped."""
    before = _COPIED.set(True)
    try:
        yield
    finally:
        _COPIED.reset(before)


class ArrayWriter:
    """Writes an array of rows piece by piece: the file is that of `save_arrays`.

    It is open only while something is written, so that nothing is left to write when the disk is full.
    """

    def __init__(self, path: Path, dtype: type[np.generic], *columns: int):
        self._path, self._dtype, self._columns, self._rows = path, np.dtype(dtype), columns, 0
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            stream.write(self._header())

    def _header(self) -> bytes:
        # NumPy leaves room for any number of rows, so that the header can be written again when it is known.
        nothing = np.empty((0, *self._columns), self._dtype)
        header, stream = np.lib.format.header_data_from_array_1_0(nothing), io.BytesIO()
        np.lib.format.write_array_header_1_0(stream, header | {"shape": (self._rows, *self._columns)})
        return stream.getvalue()

    def write(self, rows: NDArray[np.generic]) -> None:
        """Add rows at the end."""
        with self._path.open("ab") as stream:
            stream.write(np.ascontiguousarray(rows, self._dtype).data)
        self._rows += len(rows)

    def finish(self) -> None:
        """Write how many rows there are."""
        descriptor = os.open(self._path, os.O_WRONLY)
        try:
            os.write(descriptor, self._header())
        finally:
            os.close(descriptor)


class ArrayReader:
    """Reads rows of an array on disk into memory; what it looks like is read once."""

    def __init__(self, path: Path):
        whole = load_array(path)
        self._path, self._dtype, self._columns, self._rows = path, whole.dtype, whole.shape[1:], len(whole)
        self._row = math.prod(self._columns)
        self._begin = path.stat().st_size - whole.nbytes

    def rows(self, first: int = 0, last: int | None = None) -> NDArray[Any]:
        """Read the rows from `first` to before `last`, by default all."""
        number = (self._rows if last is None else last) - first
        if number <= 0:
            return np.empty((0, *self._columns), self._dtype)
        with self._path.open("rb") as stream:
            stream.seek(self._begin + first * self._row * self._dtype.itemsize)
            return np.fromfile(stream, self._dtype, number * self._row).reshape(number, *self._columns)


def rows_of(array: NDArray[Any], first: int, last: int) -> NDArray[Any]:
    """Some rows of an array; those of a mapped one are read, so that no pages of its file become memory of ours."""
    file = _mapped_file(array)
    return array[first:last] if file is None else ArrayReader(file).rows(first, min(last, len(array)))


def let_go(*arrays: NDArray[Any]) -> None:
    """Tell the system that arrays, if mapped, are not needed now: until then their pages are no memory of ours."""
    for array in arrays:
        if isinstance(array.base, np.memmap) and isinstance(array.base.base, mmap.mmap):
            array.base.base.madvise(mmap.MADV_DONTNEED)


def load_array(path: Path) -> NDArray[np.generic]:
    """Memory-map one array, read-only; or read it, within `copied_arrays`."""
    try:
        with path.open("rb") as stream:
            version = np.lib.format.read_magic(stream)
            read_header = (
                np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = read_header(stream)
            offset = stream.tell()
            size = math.prod(shape) * dtype.itemsize
            if dtype.hasobject or fortran or offset % 16:  # numbers must stand where a processor expects them
                raise ValueError("not an array of ours")
            found = os.fstat(stream.fileno()).st_size
            if found != offset + size:
                raise DataError(f"has {found} bytes", path=path, expected=f"{offset + size}, as its header says")
            if size == 0:
                return np.empty(shape, dtype)
            if _COPIED.get():
                return _read_only(np.fromfile(stream, dtype, math.prod(shape)).reshape(shape))
            mapped = np.memmap(stream, dtype, "r", offset, shape)
            mapped.origin = _origin(os.fstat(stream.fileno()))  # type: ignore[attr-defined]
            # A plain view: every slice of a memmap object costs microseconds.
            return np.asarray(mapped)
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", path=path) from None
    except Exception:  # the header is a Python literal, and NumPy's parser fails on a bad one in many ways
        raise DataError("is damaged", path=path, expected="an array in NumPy's .npy format") from None


def _read_only(array: NDArray[np.generic]) -> NDArray[np.generic]:
    array.flags.writeable = False
    return array


def load_arrays(folder: Path) -> Arrays:
    """Memory-map every array of a folder, by name."""
    return {path.stem: load_array(path) for path in sorted(folder.glob("*.npy"))}
