"""Something that was loaded from files which others may write into: looked at before it is used, and loaded again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from dragoman.core.errors import DragomanError
from dragoman.core.store import Origin, array_origins, changed_in_place
from dragoman.serve.failures import RequestError, refusal_of

T = TypeVar("T")

_log = logging.getLogger("dragoman.serve")

#: Seconds between two looks, unless one is asked for: a look takes microseconds for each file.
_LOOK = 0.05


class Watched(Generic[T]):
    """What was loaded from the files of a folder, for as long as nobody writes into them; `origins` is how they were.

    Its arrays are mapped: to use them when a file has become shorter would end the process. Once a file was written
    into, nobody gets to use it; it is loaded again in a thread of its own, and once more if something has changed since
    that failed. Files that were replaced or removed are still whole for who has them mapped, and are used on.
    """

    def __init__(self, name: str, folder: Path, origins: Mapping[str, Origin], first: T, load: Callable[[], T]):
        self._name, self._folder, self._load = name, folder, load
        self._lock = threading.Lock()
        self._origins = origins
        self._loaded: T | None = first
        self._looked = time.monotonic()
        self._reader: threading.Thread | None = None
        self._tried: Mapping[str, Origin] | None = None
        self._reason = ""
        self.when_changed: list[Callable[[], None]] = []

    def current(self, *, look: bool = False) -> T:
        """What can be used now, or a refusal that says why there is nothing; `look` at the files in any case."""
        with self._lock:
            now = time.monotonic()
            if look or now - self._looked >= _LOOK:
                self._looked = now
                self._look()
            if self._loaded is not None:
                return self._loaded
            if self._reader is not None:
                raise RequestError(
                    503, f"{self._subject} was changed while it was served, and is read again", retry_after=1
                )
            raise RequestError(
                503,
                f"{self._subject} was changed while it was served, and is not whole: {self._reason}; expected a model "
                "that was put there whole",
                retry_after=10,
            )

    @property
    def _subject(self) -> str:
        return f"the model {self._name} (in the folder {self._folder.name})"

    def _look(self) -> None:
        if self._loaded is not None:
            changed = changed_in_place(self._origins)
            if changed is None:
                return
            _log.warning("%s was written into while it was served: %s", self._subject, changed)
            self._loaded = None
            for tell in self.when_changed:
                tell()
        if self._reader is None and self._tried != _origins_of(self._folder):
            self._reader = threading.Thread(target=self._read, name="dragoman-load", daemon=True)
            self._reader.start()

    def _read(self) -> None:
        """Load it again, if it is whole."""
        origins, loaded, reason = _origins_of(self._folder), None, ""
        try:
            loaded = self._load()
        except DragomanError as error:
            reason = refusal_of(error).message
            _log.warning("%s is not whole: %s", self._subject, error)
        except Exception:
            reason = "it cannot be read"
            _log.exception("%s cannot be read", self._subject)
        with self._lock:
            self._reader, self._tried, self._reason = None, origins, reason
            if loaded is not None and origins is not None:
                self._loaded, self._origins, self._tried = loaded, origins, None
                _log.warning("%s was read again", self._subject)


def _origins_of(folder: Path) -> dict[str, Origin] | None:
    try:
        return array_origins(folder)
    except OSError:
        return None
