"""Checkpoints of training: the results of complete stages, beside the output, so that a killed training can resume."""

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

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError, version, write_error
from dragoman.core.files import PathLike
from dragoman.core.own_files import CHECKPOINT, lock_output
from dragoman.core.progress import SILENT, Progress
from dragoman.core.store import Arrays, compare_checksums, load_arrays, write_checksums

_KEY = "key"


class StageCheckpoint:
    """A hidden folder with a folder for each complete stage; removed when training ends, unless it is killed.

    The key of a stage identifies its inputs: a stage with another key is computed again.
    """

    def __init__(self, out: PathLike):
        self._out = Path(os.path.abspath(out))  # noqa: PTH100 - a name for `.` and `..`, and links stay links
        self.folder = self._out.with_name(f".{self._out.name}.checkpoint")
        self._lock = contextlib.ExitStack()

    def load(self, stage: str, key: str, progress: Progress = SILENT) -> Arrays | None:
        """Memory-map the arrays of a stage if it has this key; None if it has another one, or is damaged (removed)."""
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
            progress.warn(f"a stage of the interrupted training is damaged and will be computed again: {reason}")
            shutil.rmtree(folder, ignore_errors=True)
        return None

    def save(self, stage: str, key: str, write: Callable[[Path], None]) -> Arrays:
        """Let `write` write the arrays of a stage to a folder, and return them, memory-mapped."""
        partial = self.folder / f"{stage}.partial"
        try:
            (self.folder / stage / _KEY).unlink(missing_ok=True)  # without a key the stage is ignored, complete or not
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
        """Lock the output."""
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


def stage_key(text: Bitext | Corpus, options: Mapping[str, Any], arrays: Iterable[NDArray[np.generic]] = ()) -> str:
    """Return a key of the inputs of a stage: text, options, other arrays, and the version of Dragoman."""
    digest = hashlib.sha256(json.dumps([version(), options], sort_keys=True, default=str).encode())
    for corpus in (text.source, text.target) if isinstance(text, Bitext) else (text,):
        for array in (corpus.sentences.values, corpus.sentences.offsets, corpus.vocab.blob, corpus.vocab.offsets):
            digest.update(np.ascontiguousarray(array).data)
    for more in arrays:
        digest.update(np.ascontiguousarray(more).data)
    return digest.hexdigest()
