"""What whole stages of a training have made, kept beside its output: a training that was killed goes on from there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.core.checksums import compare_checksums, write_checksums
from dragoman.core.corpus import Bitext
from dragoman.core.errors import DataError, version, write_error
from dragoman.core.files import PathLike
from dragoman.core.own_files import CHECKPOINT, lock_output
from dragoman.core.progress import SILENT, Progress
from dragoman.core.store import Arrays, load_arrays

_KEY = "key"


class Checkpoint:
    """A hidden folder with a folder for each stage that is whole; it goes away when training ends, unless it is killed.

    A stage has a key, which says what it was made of: one with another key is made again.
    """

    def __init__(self, out: PathLike):
        self._out = Path(os.path.abspath(out))  # noqa: PTH100 - a name for `.` and `..`, and links stay links
        self.folder = self._out.with_name(f".{self._out.name}.checkpoint")
        self._lock = contextlib.ExitStack()

    def found(self, stage: str, key: str, progress: Progress = SILENT) -> Arrays | None:
        """The arrays of a stage, mapped, if it is of this key and as it was written; one that is not is dropped."""
        folder = self.folder / stage
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if (folder / _KEY).read_text(encoding="ascii") != key:
                return None
            try:
                files = compare_checksums(folder, complete=True)
                arrays = load_arrays(folder)
                if len(arrays) == files:
                    return arrays
                reason = f"{folder}: has {len(arrays)} arrays, and {files} were written"
            except DataError as error:
                reason = str(error)
            progress.warn(f"what a training that was killed has left is made again: {reason}")
            shutil.rmtree(folder, ignore_errors=True)
        return None

    def made(self, stage: str, key: str, write: Callable[[Path], None]) -> Arrays:
        """Let arrays be written to a folder, and keep it as that of a stage; returns them, mapped."""
        partial = self.folder / f"{stage}.partial"
        try:
            (self.folder / stage / _KEY).unlink(missing_ok=True)  # what has no key counts for nothing, whole or not
            for old in (partial, self.folder / stage):
                shutil.rmtree(old, ignore_errors=True)
            partial.mkdir(parents=True)
            write(partial)
            write_checksums(partial)
            (partial / _KEY).write_text(key, encoding="ascii")
            partial.rename(self.folder / stage)
        except OSError as error:
            raise write_error(self._out, error) from None
        return load_arrays(self.folder / stage)

    def __enter__(self) -> Self:
        """Keep all others from making the same folder."""
        self._lock.enter_context(lock_output(self._out))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            for key in self.folder.glob(f"*/{_KEY}"):
                key.unlink()
            CHECKPOINT.remove(self.folder)
            for empty in [*self.folder.iterdir(), self.folder]:
                empty.rmdir()
        self._lock.close()


def stage_key(bitext: Bitext, options: Mapping[str, Any], arrays: Iterable[NDArray[np.generic]] = ()) -> str:
    """What a stage is made of, in a few letters: text, options, other arrays, and the version of Dragoman."""
    found = hashlib.sha256(json.dumps([version(), options], sort_keys=True, default=str).encode())
    for corpus in (bitext.source, bitext.target):
        for array in (corpus.sentences.values, corpus.sentences.offsets, corpus.vocab.blob, corpus.vocab.offsets):
            found.update(np.ascontiguousarray(array).data)
    for more in arrays:
        found.update(np.ascontiguousarray(more).data)
    return found.hexdigest()
