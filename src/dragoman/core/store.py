"""Arrays on disk: one `.npy` file each, memory-mapped, never unpickled; checks that kernels rely on, and checksums."""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import mmap
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, version
from dragoman.core.options import format_toml, read_toml
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged

Arrays = dict[str, NDArray[np.generic]]

#: State of a file at some time: device, inode, size and modification time.
Origin = tuple[int, ...]

#: True if arrays are read into memory instead of being mapped.
_COPIED: ContextVar[bool] = ContextVar("copied", default=False)


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write each array as `NAME.npy`; the same arrays give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        # The bytes of np.save, which does not say why it failed if the disk is full.
        with (folder / f"{name}.npy").open("wb") as stream:
            if (file := _mapped_file(array)) is None:
                np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
                stream.write(array.data)
            else:  # without loading the pages of the old file into memory
                with file.open("rb") as old:
                    shutil.copyfileobj(old, stream, 1 << 22)


def _mapped_file(array: NDArray[np.generic]) -> Path | None:
    """Return the `.npy` file of a mapped array that is the whole file and has not changed since; otherwise None."""
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
    """Return what distinguishes a file from a later one of the same name."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def array_origins(folder: Path) -> dict[str, Origin]:
    """Return the current state of all files of arrays below a folder."""
    return {str(path): _origin(path.stat()) for path in sorted(folder.rglob("*.npy"))}


def changed_in_place(origins: Mapping[str, Origin]) -> str | None:
    """Return a file that has been modified in place since, if any: processes that have it mapped may crash.

    A file that was replaced or removed stays intact for processes that have it mapped.
    """
    for path, origin in origins.items():
        try:
            now = _origin(os.stat(path))  # noqa: PTH116 - making a Path takes longer than the call
        except OSError:
            continue
        if now != origin and now[:2] == origin[:2]:
            return path
    return None


@contextlib.contextmanager
def copied_arrays() -> Iterator[None]:
    """Read arrays into memory in this context, so that changes to their files do no harm; otherwise they are mapped."""
    before = _COPIED.set(True)
    try:
        yield
    finally:
        _COPIED.reset(before)


class ArrayWriter:
    """Writes an array of rows piece by piece; the file is the same as by `save_arrays`.

    It is open only during a write, so that errors of a full disk occur there.
    """

    def __init__(self, path: Path, dtype: type[np.generic], *columns: int):
        self._path, self._dtype, self._columns, self._rows = path, np.dtype(dtype), columns, 0
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            stream.write(self._header())

    def _header(self) -> bytes:
        # NumPy pads the header for any number of rows, so that it can be rewritten when the number is known.
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
        """Write the number of rows into the header."""
        descriptor = os.open(self._path, os.O_WRONLY)
        try:
            os.write(descriptor, self._header())
        finally:
            os.close(descriptor)


class ArrayReader:
    """Reads rows of an array on disk into memory; the header is read once."""

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


def read_rows(array: NDArray[Any], first: int, last: int) -> NDArray[Any]:
    """Return rows of an array; rows of a mapped array are read from its file, so that its pages stay out of memory."""
    file = _mapped_file(array)
    return array[first:last] if file is None else ArrayReader(file).rows(first, min(last, len(array)))


def release_pages(*arrays: NDArray[Any]) -> None:
    """Let the system take back the pages of mapped arrays; they are read again when needed."""
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
            if dtype.hasobject or fortran or offset % 16:  # data must be aligned
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
            # A plain view, because slicing a memmap object costs microseconds.
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
    """Memory-map all arrays of a folder, by name."""
    return {path.stem: load_array(path) for path in sorted(folder.glob("*.npy"))}


T = TypeVar("T", bound=np.generic)

#: Largest absolute value of scores and weights, about 1e30, so that sums and products stay finite. A power of two has
#: the same value in any precision.
LARGEST = 2.0**100

#: Number of rows checked at a time, so that an array larger than the memory can be checked.
_BLOCK = 1 << 20


def blocks(rows: int) -> Iterator[slice]:
    """Cut `rows` rows into ranges that fit into memory.

    >>> list(blocks(3))
    [slice(0, 3, None)]
    """
    return (slice(first, min(first + _BLOCK, rows)) for first in range(0, rows, _BLOCK))


def check_range(name: str, values: NDArray[np.integer], lowest: int, below: int) -> None:
    """Refuse integers outside of a range.

    >>> check_range("ids", np.arange(3), 0, 2)
    Traceback (most recent call last):
    dragoman.core.errors.DataError: the array 'ids' holds 2; expected numbers from 0 to 1
    """
    if values.size:
        for found in (int(values.min()), int(values.max())):
            if not lowest <= found < below:
                expected = f"numbers from {lowest} to {below - 1}" if lowest < below else "an empty array"
                raise DataError(f"the array '{name}' holds {found}", expected=expected)


def check_numbers(name: str, values: NDArray[np.floating]) -> None:
    """Refuse numbers that are not finite, or so large that their sums may not be."""
    for rows in blocks(len(values)):
        part = values[rows]
        with np.errstate(invalid="ignore"):
            fits = not part.size or bool(part.min() >= -LARGEST and part.max() <= LARGEST)
        if not fits:
            wrong = part[~(np.abs(part) <= LARGEST)]
            raise DataError(f"the array '{name}' holds {wrong.flat[0]}", expected="finite numbers of a usual size")


def check_offsets(name: str, offsets: NDArray[np.int64], end: int, *, longest: int | None = None) -> None:
    """Refuse offsets that do not rise from 0 to `end` in steps of at most `longest`.

    >>> check_offsets("offsets", np.array([0, 2, 1, 3]), 3)
    Traceback (most recent call last):
    dragoman.core.errors.DataError: the array 'offsets' falls from 2 to 1; expected offsets that never fall
    """
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end:
        raise DataError(f"the array '{name}' has other ends", expected=f"offsets from 0 to {end}")
    for rows in blocks(len(offsets) - 1):
        before, after = offsets[rows], offsets[rows.start + 1 : rows.stop + 1]
        wrong = np.flatnonzero(after < before)
        if len(wrong):
            first = int(wrong[0])
            raise DataError(
                f"the array '{name}' falls from {before[first]} to {after[first]}", expected="offsets that never fall"
            )
        if longest is not None and (length := int((after - before).max(initial=0))) > longest:
            raise DataError(f"the array '{name}' has a row of {length}", expected=f"at most {longest}")


def typed_array(
    arrays: Mapping[str, NDArray[np.generic]], name: str, dtype: type[T], shape: tuple[int | None, ...], part: str
) -> NDArray[T]:
    """Return an array of a part of a model after checking its type and shape; None in `shape` allows any length."""
    array = arrays.get(name)
    if array is None:
        raise DataError(f"the array '{name}' is missing", expected=part)
    suits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if array.dtype != dtype or not suits:
        raise DataError(f"the array '{name}' is of the wrong type or shape", expected=part)
    return cast(NDArray[T], array)


def ragged_array(arrays: Arrays, values: str, offsets: str, dtype: type[T], part: str) -> Ragged[T]:
    """Return rows of different lengths from two arrays, after checking that the offsets fit the values."""
    rows = Ragged(
        typed_array(arrays, values, dtype, (None,), part), typed_array(arrays, offsets, np.int64, (None,), part)
    )
    if not len(rows.offsets) or rows.offsets[0] != 0 or rows.offsets[-1] != len(rows.values):
        raise DataError(f"the array '{offsets}' does not fit '{values}'", expected=part)
    return rows


#: The file with the checksums of arrays.
CHECKSUMS = "checksums.toml"


def checksum(path: Path) -> int:
    """Return the checksum of a file."""
    value = 0
    with path.open("rb") as stream:
        while block := stream.read(1 << 22):
            value = zlib.crc32(block, value)
    return value


def is_whole(path: Path, expected: int) -> bool:
    """Return True if the file exists and has the expected checksum."""
    try:
        return path.is_file() and checksum(path) == expected
    except OSError:
        return False


def write_checksums(folder: Path, progress_callback: ProgressCallback = lambda done: None) -> None:
    """Write the checksums of all arrays in a folder."""
    found, done, files = {}, 0, _array_files(folder)
    total = sum(file.stat().st_size for file in files)
    for file in files:
        found[file.relative_to(folder).as_posix()] = checksum(file)
        done += file.stat().st_size
        progress_callback(done / total)
    (folder / CHECKSUMS).write_text(format_toml(found), encoding="utf-8")


def compare_checksums(folder: Path, *, complete: bool) -> int:
    """Refuse damaged arrays and, if the folder must be `complete`, missing ones; return the number of arrays listed."""
    expected = read_toml(folder / CHECKSUMS)
    for name, value in expected.items():
        file = folder / name
        if file.is_file():
            if checksum(file) != value:
                raise DataError("is damaged", path=file, expected=f"checksum {value}")
        elif complete:
            raise DataError("is missing", path=file, expected="an array of the model")
    return len(expected)


def checked_files(folder: Path) -> list[Path]:
    """Return the files of a model; when one of them changes, all are verified again."""
    return [folder / "model.toml", *folder.glob(CHECKSUMS), *_array_files(folder)]


def _array_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.npy"))


def digest(files: Iterable[Path]) -> str:
    """Return a digest of the contents of files, in this order: sixteen hexadecimal digits.

    >>> digest([])
    'e3b0c44298fc1c14'
    """
    found = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            part = hashlib.file_digest(stream, "sha256")
        found.update(part.digest())
    return found.hexdigest()[:16]


def digest_file(file: Path) -> str:
    """Return the digest of one file."""
    return digest([file])


#: Number of fingerprints that are remembered, the latest ones.
_MAX_MARKS = 500

#: A file written more recently than this may be written again without a new modification time.
_SETTLED_NS = 2_000_000_000


def fingerprint(files: Sequence[Path]) -> str | None:
    """Return a fingerprint of files without reading them; None if one of them has only just been written."""
    found = hashlib.sha256(version().encode())
    now = time.time_ns()
    for file in files:
        about = file.stat()
        if not 0 <= about.st_mtime_ns < now - _SETTLED_NS:
            return None
        found.update(f"{file.name} {about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns}\n".encode())
    return found.hexdigest()


def is_verified(mark: str) -> bool:
    """Return True if files with this fingerprint have been verified on this machine."""
    return mark in _marks()


def remember_verified(mark: str) -> None:
    """Remember that files with this fingerprint have been verified; does nothing if the cache cannot be written."""
    place = _place()
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        marks = [*(other for other in _marks() if other != mark), mark][-_MAX_MARKS:]
        with tempfile.NamedTemporaryFile("w", dir=place.parent, encoding="ascii", delete=False) as stream:
            try:
                stream.write("".join(f"{mark}\n" for mark in marks))
                stream.close()
                Path(stream.name).replace(place)
            except OSError:
                Path(stream.name).unlink()


def _place() -> Path:
    return cache_folder() / "verified"


def cache_folder() -> Path:
    """Return the folder for data that can be made again."""
    # The XDG specification says that relative paths are to be ignored.
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    home = os.path.expanduser("~/.cache")  # noqa: PTH111 - Path.home() fails where there is no home
    return (given if given.is_absolute() else Path(home)) / "dragoman"


def _marks() -> list[str]:
    try:
        return _place().read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return []
