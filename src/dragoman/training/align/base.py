"""What every word aligner is: a class of options that turns a bitext into the links of two directions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Links
from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import Options
from dragoman.core.progress import LocalProgressCallback, ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.training.align.translation_table import TranslationTable

#: A link holds its two positions in 16 bits each.
MAX_LENGTH = 65_535


@dataclass(frozen=True, eq=False)
class Directions:
    """The links of two models that see a bitext from either side, both as (source, target), rows sorted.

    In `forward` the target words are generated from the source words, so that each has at most one link; in `reverse`
    it is the other way round.
    """

    forward: Links
    reverse: Links


@dataclass(frozen=True)
class Aligner(Options, ABC):
    """Base of all aligners; a subclass with a `name` in this folder can be chosen by that name."""

    name: ClassVar[str]

    @abstractmethod
    def align(self, bitext: Bitext, *, runtime: Runtime = Runtime()) -> Directions:
        """Align the words of each sentence pair; an empty sentence has no links.

        The workspace says how much memory there is; an aligner may need more. Workers do what can be done by them.
        """


@dataclass(frozen=True)
class DirectionalAligner(Aligner):
    """An aligner whose two directions know nothing of each other."""

    #: Whether workers get a direction each, and not ranges of words.
    by_direction: ClassVar[bool] = False

    @abstractmethod
    def align_direction(
        self, table: TranslationTable, *, passes: Passes, runtime: Runtime = Runtime()
    ) -> NDArray[np.int32]:
        """Train one direction; return the given position of each generated token, or -1 where it has none."""

    @property
    @abstractmethod
    def corpus_passes(self) -> int:
        """How often one direction walks through the corpus."""

    def align(self, bitext: Bitext, *, runtime: Runtime = Runtime()) -> Directions:
        """Align the words of each sentence pair; an empty sentence has no links."""
        check_lengths(bitext)

        def share(value: float) -> None:
            progress_callback(value)  # of the stage that is open

        work, links = OneDirection(self, bitext), []
        sides = ((backwards, LocalProgressCallback(share)) for backwards in (False, True))
        made = runtime.map_parts(work, sides) if self.by_direction else (work(side, runtime) for side in sides)
        for stage in ("align, source to target", "align, target to source"):
            with runtime.stage(stage) as progress_callback:
                links.append(next(made))
        return Directions(*links)


@dataclass(frozen=True, eq=False)
class OneDirection:
    """Makes what a direction needs, trains it, and finds its links."""

    aligner: DirectionalAligner
    bitext: Bitext

    def __call__(self, side: tuple[bool, ProgressCallback], runtime: Runtime) -> Links:
        """The links of the direction in which the source is generated (`backwards`), or of the other."""
        backwards, share = side
        source, target = self.bitext.source, self.bitext.target
        given, generated = (target, source) if backwards else (source, target)
        passes = Passes(share, 1 + self.aligner.corpus_passes)
        table = TranslationTable(given, generated, progress_callback=passes.next(), runtime=runtime)
        positions = self.aligner.align_direction(table, passes=passes, runtime=runtime)
        return Ragged(*kernels.link_rows(positions, generated.sentences.offsets, backwards))


class Passes:
    """The share done of one direction, from the shares of its passes through the corpus."""

    def __init__(self, progress_callback: ProgressCallback, passes: int):
        self._done = progress_callback
        self._passes = passes
        self._begun = 0

    def next(self) -> Callable[[float], None]:
        """Begin a pass; returns what its kernel calls with its own share done."""
        before = self._begun
        self._begun += 1
        return lambda share: self._done((before + share) / self._passes)


def check_lengths(bitext: Bitext) -> None:
    """Refuse sentences that links cannot number the words of."""
    for side, corpus in (("source", bitext.source), ("target", bitext.target)):
        lengths = corpus.sentences.lengths
        if len(lengths) and lengths.max() > MAX_LENGTH:
            row = int(lengths.argmax())
            raise DataError(
                f"{side} line {row + 1} has {lengths[row]} words", expected=f"at most {MAX_LENGTH} for word alignment"
            )


Method = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]


def symmetrise(
    directions: Directions, method: Method = "grow-diag-final-and", *, runtime: Runtime = Runtime()
) -> Links:
    """Combine both directions; the result has links of their union only, and rows are sorted.

    `grow-diag` begins with the intersection and adds neighbouring links of words that have none yet (Koehn, Och & Marcu
    2003); `-final` then adds links of either direction of which one word has none, `-final-and` those of which both
    have none. Links are tried in the order of atools, so that the result is the same.

    >>> from dragoman.core.corpus import links_of, source_positions
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
