"""The aligner that chooses by word order: the diagonal model, or the HMM if links jump far."""

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

#: The usual reordering limit, the limit for languages whose word order differs more, and the share of jumps beyond the
#: usual limit above which the latter is better. It is 1 to 3 % for French and German into English, 7 to 11 % for
#: Japanese.
USUAL, FAR, TOO_MANY = 6, 12, 0.05

#: Sorting links takes more memory than the links.
_LINKS_AT_ONCE = 1 << 20


def jump_lengths(links: Links) -> NDArray[np.int64]:
    """Return the lengths of jumps of the source position between neighbouring aligned target words; 0 is no jump.

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


def swap_sides(links: Links) -> Links:
    """Swap the source and target positions of links.

    >>> from dragoman.core.corpus import links_of
    >>> target_positions(swap_sides(links_of([[(0, 5), (3, 1)]]))).tolist()
    [0, 3]
    """
    values = target_positions(links).astype(np.uint32) << np.uint32(16) | source_positions(links).astype(np.uint32)
    return Ragged(values, links.offsets)


def share_of_long_jumps(links: Links, limit: int = USUAL) -> float:
    """Return the share of jumps that are longer than a limit."""
    jumps = long = 0
    for at in links.blocks(_LINKS_AT_ONCE):
        lengths = jump_lengths(links.part(at))
        jumps, long = jumps + len(lengths), long + int(np.count_nonzero(lengths > limit))
    return long / jumps if jumps else 0.0


#: Sentence pairs to estimate the word order from.
_ENOUGH = 10_000


@dataclass(frozen=True)
class Auto(Diagonal):
    """The diagonal model; or the HMM, if too many links of the intersection of both directions jump far.

    The limit is 5 % of the jumps between neighbouring words, on the side with more of them, that are longer than 6:
    Japanese and English have 14 %, German and English 2 to 4 %, French and English 0.3 to 2 %. The options are those of
    the diagonal model; the HMM has its defaults. To save the time of trying, choose one of the two by name.
    """

    name: ClassVar[str] = "auto"

    def align(self, bitext: Bitext, *, runtime: Runtime = Runtime()) -> Directions:
        """Align the words of each sentence pair; an empty sentence has no links."""
        withheld = _Withheld(runtime.progress)
        directions = Diagonal(**self.to_dict()).align(bitext, runtime=replace(runtime, progress=withheld))
        few = np.unique(np.linspace(0, len(bitext) - 1, min(len(bitext), _ENOUGH)).astype(np.int64))
        both = symmetrise(Directions(directions.forward.take(few), directions.reverse.take(few)), "intersection")
        share = max(share_of_long_jumps(both), share_of_long_jumps(swap_sides(both)))
        if share <= TOO_MANY:
            withheld.tell()
            return directions
        runtime.note(
            f"{share:.0%} of the jumps between words are longer than {USUAL}: aligning again by the HMM, which is"
            " for languages with different word order (--aligner)"
        )
        return Hmm().align(bitext, runtime=runtime)


class _Withheld(Progress):
    """Progress that holds warnings about links back until the links are used."""

    def __init__(self, whole: Progress):
        self._whole = whole
        self._warnings: list[str] = []

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ProgressCallback]:
        """Begin a stage of the whole."""
        with self._whole.stage(name) as progress_callback:
            yield progress_callback

    def note(self, text: str) -> None:
        """Pass a note on."""
        self._whole.note(text)

    def warn(self, text: str) -> None:
        """Keep a warning."""
        self._warnings.append(text)

    def tell(self) -> None:
        """Pass the warnings on."""
        for text in self._warnings:
            self._whole.warn(text)
