"""From the links of two directions to one alignment."""

from __future__ import annotations

from typing import Literal, get_args

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.links import Links
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.training.align.base import Directions

Method = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]


def symmetrise(
    directions: Directions, method: Method = "grow-diag-final-and", *, runtime: Runtime = Runtime()
) -> Links:
    """Combine both directions; the result has links of their union only, and rows are sorted.

    `grow-diag` begins with the intersection and adds neighbouring links of words that have none yet (Koehn, Och & Marcu
    2003); `-final` then adds links of either direction of which one word has none, `-final-and` those of which both
    have none. Links are tried in the order of atools, so that the result is the same.

    >>> from dragoman.core.links import links_of, source_positions
    >>> both = Directions(links_of([[(0, 0), (1, 1)]]), links_of([[(0, 0), (2, 1)]]))
    >>> source_positions(symmetrise(both)).tolist(), source_positions(symmetrise(both, "intersection")).tolist()
    ([0, 1, 2], [0])
    """
    if method not in get_args(Method):
        raise UsageError(f"no way to symmetrise is called '{method}'; there are {', '.join(get_args(Method))}")
    forward, reverse = directions.forward, directions.reverse
    if len(forward) != len(reverse):
        raise DataError(
            f"the links of one direction have {len(forward)} lines and those of the other {len(reverse)}",
            expected="one line for each sentence pair in both",
        )
    both = forward.values, forward.offsets, reverse.values, reverse.offsets
    return Ragged(*kernels.symmetrise_links(*both, get_args(Method).index(method), runtime.threads))
