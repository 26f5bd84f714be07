"""The aligner that looks at the word order first: the diagonal model, or where links jump far the HMM."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Bitext, Links, source_positions, target_positions
from dragoman.core.progress import Progress, ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.training.align.base import Directions, symmetrise
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.align.hmm import Hmm

#: The usual reordering limit, that of languages whose word order differs more, and the share of jumps beyond the usual
#: one from which on that is better. It is 1 to 3 % for French and German into English, 7 to 11 % for Japanese.
USUAL, FAR, TOO_MANY = 6, 12, 0.05

#: Sorting links takes more memory than the links.
_LINKS_AT_ONCE = 1 << 20


def jump_lengths(links: Links) -> NDArray[np.int64]:
    """How far the source position jumps between neighbouring target words, of those with links; 0 is no jump.

    >>> from dragoman.core.corpus import links_of
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


def swapped(links: Links) -> Links:
    """Links as the other side sees them.

    >>> from dragoman.core.corpus import links_of
    >>> target_positions(swapped(links_of([[(0, 5), (3, 1)]]))).tolist()
    [0, 3]
    """
    values = target_positions(links).astype(np.uint32) << np.uint32(16) | source_positions(links).astype(np.uint32)
    return Ragged(values, links.offsets)


def share_of_long_jumps(links: Links, limit: int = USUAL) -> float:
    """The share of jumps that are longer than a limit."""
    jumps = long = 0
    for at in links.blocks(_LINKS_AT_ONCE):
        lengths = jump_lengths(links.part(at))
        jumps, long = jumps + len(lengths), long + int(np.count_nonzero(lengths > limit))
    return long / jumps if jumps else 0.0


#: Sentence pairs that show what the word order is like.
_ENOUGH = 10_000


@dataclass(frozen=True)
class Auto(Diagonal):
    """Aligns by the diagonal model, and anew by the HMM if too many of the links that both directions have jump far.

    That is where more than 5 % of the jumps between neighbouring words, seen from the side that has more of them, are
    longer than 6: Japanese and English have 14 %, German and English 2 to 4 %, French and English 0.3 to 2 %. The
    options are the diagonal model's, the HMM has its own defaults; name one of the two to be spared the other.
    """

    name: ClassVar[str] = "auto"

    def align(self, bitext: Bitext, *, runtime: Runtime = Runtime()) -> Directions:
        """Align the words of each sentence pair; an empty sentence has no links."""
        withheld = _Withheld(runtime.progress)
        directions = Diagonal(**self.to_dict()).align(bitext, runtime=replace(runtime, progress=withheld))
        few = np.unique(np.linspace(0, len(bitext) - 1, min(len(bitext), _ENOUGH)).astype(np.int64))
        both = symmetrise(Directions(directions.forward.take(few), directions.reverse.take(few)), "intersection")
        share = max(share_of_long_jumps(both), share_of_long_jumps(swapped(both)))
        if share <= TOO_MANY:
            withheld.tell()
            return directions
        runtime.note(
            f"{share:.0%} of the jumps between words are longer than {USUAL}: aligning anew by the HMM, which is"
            " made for languages of different word order (--aligner)"
        )
        return Hmm().align(bitext, runtime=runtime)


class _Withheld(Progress):
    """Keeps warnings about links until it is known whether these are used."""

    def __init__(self, whole: Progress):
        self._whole = whole
        self._warnings: list[str] = []

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ProgressCallback]:
        """Begin a stage of the whole."""
        with self._whole.stage(name) as progress_callback:
            yield progress_callback

    def note(self, text: str) -> None:
        """Say something worth knowing."""
        self._whole.note(text)

    def warn(self, text: str) -> None:
        """Keep a warning."""
        self._warnings.append(text)

    def tell(self) -> None:
        """Say the warnings, now that they matter."""
        for text in self._warnings:
            self._whole.warn(text)
