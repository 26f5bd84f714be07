"""Strings as vectors of their character n-grams: a cheap stand-in for sentence embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Dimensions; n-grams share them by hashing.
_WIDTH = 512

#: Orders of n-grams.
_ORDERS = (2, 3, 4)


def character_vectors(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return a unit vector for each text: hashed counts of its character n-grams.

    >>> a, b, c = character_vectors(["the cat", "the cats", "dogs"])
    >>> bool(a @ b > a @ c)
    True
    """
    lengths = np.array([len(text) for text in texts], np.int64)
    letters = np.frombuffer("".join(texts).encode("utf-32-le", errors="surrogatepass"), np.uint32).astype(np.uint64)
    owners = np.repeat(np.arange(len(texts)), lengths)
    found = np.zeros(len(texts) * _WIDTH)
    hashes = letters.copy()
    for order in range(2, max(_ORDERS) + 1):
        # The hash of an n-gram from that of the one that is a letter shorter; those across two texts are left out.
        hashes = hashes[:-1] * np.uint64(0x9E3779B97F4A7C15) + letters[order - 1 :]
        inside = owners[: len(hashes)] == owners[order - 1 :]
        if order in _ORDERS:
            mixed = hashes ^ (hashes >> np.uint64(29))
            mixed = (mixed * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(40)
            cells = owners[: len(hashes)] * _WIDTH + (mixed % np.uint64(_WIDTH)).astype(np.int64)
            found += np.bincount(cells[inside], minlength=len(found))
    vectors = found.reshape(len(texts), _WIDTH)
    norms = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.maximum(norms, 1e-300))
