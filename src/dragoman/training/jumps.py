"""How far a translation jumps in the source, as word links show it, and what reordering limit that calls for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.core.links import Links, source_positions, target_positions

#: The usual reordering limit, that of languages whose word order differs more, and the share of jumps beyond the usual
#: one from which on that is better. It is 1 to 3 % for French and German into English, 7 to 11 % for Japanese.
USUAL, FAR, TOO_MANY = 6, 12, 0.05

#: Sorting links takes more memory than the links.
_LINKS_AT_ONCE = 1 << 20


def jump_lengths(links: Links) -> NDArray[np.int64]:
    """How far the source position jumps between neighbouring target words, of those with links; 0 is no jump.

    >>> from dragoman.core.links import links_of
    >>> jump_lengths(links_of([[(0, 0), (3, 1), (4, 1), (1, 2)], [(2, 0)]])).tolist()
    [2, 4]
    """
    rows = np.repeat(np.arange(len(links), dtype=np.int64), links.lengths)
    words, sources = rows << 16 | target_positions(links), source_positions(links).astype(np.int64)
    order = np.lexsort((sources, words))
    words, sources = words[order], sources[order]
    word, first = np.unique(words, return_index=True)
    last = np.append(first[1:], len(words)) - 1
    inside = word[1:] >> 16 == word[:-1] >> 16
    return np.asarray(np.abs(sources[first[1:]] - sources[last[:-1]] - 1)[inside])


def share_of_long_jumps(links: Links, limit: int = USUAL) -> float:
    """The share of jumps that are longer than a limit."""
    jumps = long = 0
    for at in links.blocks(_LINKS_AT_ONCE):
        lengths = jump_lengths(links.part(at))
        jumps, long = jumps + len(lengths), long + int(np.count_nonzero(lengths > limit))
    return long / jumps if jumps else 0.0
