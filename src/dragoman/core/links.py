"""Word alignment links: which source word goes with which target word, for each sentence pair."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.ragged import Ragged

#: One row a sentence pair; a link is `source position << 16 | target position`, so rows are limited to 65,535 words.
Links = Ragged[np.uint32]

#: Positions among all words take more memory than links.
_LINKS_AT_ONCE = 1 << 20


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


def links_before(source_offsets: NDArray[np.int64], links: Links) -> NDArray[np.int64]:
    """The number of links before each running source word, and their total.

    >>> links_before(np.array([0, 2, 3]), links_of([[(0, 0), (0, 1)], [(0, 0)]])).tolist()
    [0, 2, 2, 3]
    """
    before = np.zeros(int(source_offsets[-1]) + 1, np.int64)
    for at in links.blocks(_LINKS_AT_ONCE):
        part, offsets = links.part(at), source_offsets[at.start : at.stop + 1]
        positions = np.repeat(offsets[:-1] - offsets[0], part.lengths) + source_positions(part)
        before[offsets[0] + 1 : offsets[-1] + 1] = np.bincount(positions, minlength=int(offsets[-1] - offsets[0]))
    return np.cumsum(before, out=before)


def aligned_rows(
    source: Ragged[np.int32], target: Ragged[np.int32], links: Links, before: NDArray[np.int64] | None = None
) -> kernels.AlignedText:
    """Return a parallel text as kernels take it; `before` is what `links_before` gives, for those that need it."""
    return kernels.AlignedText(
        source=source.for_kernels(),
        target=target.for_kernels(),
        links=kernels.UnsignedRows(values=links.values, offsets=links.offsets),
        links_before=before,
    )
