"""Scores of pairs of strings on disk, found by their content."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError

#: Keys in one query, below the limit of old versions of SQLite.
_KEYS_PER_QUERY = 500


class ScoreCache:
    """A file of scores. A score is found by the utility's signature and the strings that were scored.

    The file is a SQLite database: several processes may use it at once, and a killed process loses at most the batch
    that was under way.
    """

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as database:
            database.execute("CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL) WITHOUT ROWID")

    @classmethod
    def of(cls, cache: os.PathLike[str] | bool) -> Self | None:
        """Return the cache in a file, the user's own for True, and none for False."""
        return cls(cls.default_path() if cache is True else Path(cache)) if cache else None

    @staticmethod
    def default_path() -> Path:
        """Return the user's own cache: below XDG_CACHE_HOME, or ~/.cache."""
        home = os.environ.get("XDG_CACHE_HOME")
        return (Path(home) if home else Path.home() / ".cache") / "dragoman" / "scores.sqlite"

    def find(self, keys: Sequence[bytes]) -> NDArray[np.float64]:
        """Return the scores of keys, NaN for those that are not there."""
        known: dict[bytes, float] = {}
        with self._open() as database:
            for begin in range(0, len(keys), _KEYS_PER_QUERY):
                some = keys[begin : begin + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(some))
                known.update(database.execute(f"SELECT key, score FROM scores WHERE key IN ({marks})", some))
        return np.array([known.get(key, np.nan) for key in keys], np.float64)

    def add(self, keys: Sequence[bytes], scores: NDArray[np.float64]) -> None:
        """Store scores."""
        with self._open() as database:
            database.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", zip(keys, scores.tolist(), strict=True))
            database.commit()

    def _open(self) -> closing[sqlite3.Connection]:
        try:
            database = sqlite3.connect(self.path, timeout=60)
            database.execute("PRAGMA schema_version")  # reads the head of the file
        except sqlite3.Error as error:
            raise DataError(
                f"is no cache of scores: {error}", path=self.path, expected="another file, or none"
            ) from None
        return closing(database)


def score_key(signature: str, hypothesis: str, reference: str, source: str) -> bytes:
    """Return the key of a score."""
    digest = hashlib.blake2b(digest_size=16)
    for text in (signature, hypothesis, reference, source):
        data = text.encode(errors="surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()
