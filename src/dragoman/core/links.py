"""Word alignment links: which source word goes with which target word, for each sentence pair."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dragoman.core.ragged import Ragged

#: One row a sentence pair; a link is `source position << 16 | target position`, so rows are limited to 65,535 words.
Links = Ragged[np.uint32]


def links_of(rows: Iterable[Iterable[tuple[int, int]]]) -> Links:
    """Build links from pairs of positions.

    >>> source_positions(links_of([[(0, 0), (1, 2)], []])).tolist()
    [0, 1]
    """
    return Ragged.of([[s << 16 | t for s, t in row] for row in rows], np.uint32)


def source_positions(links: Links) -> NDArray[np.uint32]:
    """The source position of every link."""
    return links.values >> np.uint32(16)


def target_positions(links: Links) -> NDArray[np.uint32]:
    """The target position of every link."""
    return links.values & np.uint32(0xFFFF)
