"""Arrays on disk: one `.npy` file each, memory-mapped when read, never unpickled."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError

Arrays = dict[str, NDArray[np.generic]]


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write each array as `NAME.npy`; the same arrays give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        # The bytes of np.save, which does not say why it failed when a disk is full.
        with (folder / f"{name}.npy").open("wb") as stream:
            np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
            stream.write(array.data)


def load_array(path: Path) -> NDArray[np.generic]:
    """Memory-map one array, read-only."""
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
            # A plain view: every slice of a memmap object costs microseconds.
            return np.asarray(np.memmap(stream, dtype, "r", offset, shape))
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", path=path) from None
    except Exception:  # the header is a Python literal, and NumPy's parser fails on a bad one in many ways
        raise DataError("is damaged", path=path, expected="an array in NumPy's .npy format") from None


def load_arrays(folder: Path) -> Arrays:
    """Memory-map every array of a folder, by name."""
    return {path.stem: load_array(path) for path in sorted(folder.glob("*.npy"))}
