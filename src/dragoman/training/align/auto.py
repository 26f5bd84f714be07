"""The aligner that looks at the word order first: the diagonal model, or where links jump far the HMM."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dragoman.core.corpus import Bitext
from dragoman.core.progress import Progress, ShareDone
from dragoman.core.runtime import Runtime
from dragoman.training.align.base import Directions
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.align.hmm import Hmm
from dragoman.training.jumps import TOO_MANY, USUAL, share_of_long_jumps, swapped
from dragoman.training.symmetrise import symmetrise

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
    def stage(self, name: str) -> Iterator[ShareDone]:
        """Begin a stage of the whole."""
        with self._whole.stage(name) as share:
            yield share

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
