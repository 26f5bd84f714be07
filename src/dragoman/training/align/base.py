"""Base of all word aligners: a class of options that aligns a bitext in two directions. Symmetrisation of these."""

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
    """The word alignments of two directional models, both as (source, target), rows sorted.

    In `forward` the target words are generated from the source words, so that each has at most one link; in `reverse`
    the source words are generated.
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

        The memory of the workspace is a target; an aligner may need more. Work is shared among workers where it can be.
        """


@dataclass(frozen=True)
class DirectionalAligner(Aligner):
    """An aligner whose two directions are independent."""

    #: Workers get a direction each, instead of ranges of words.
    by_direction: ClassVar[bool] = False

    @abstractmethod
    def align_direction(
        self, table: TranslationTable, *, passes: Passes, runtime: Runtime = Runtime()
    ) -> NDArray[np.int32]:
        """Train one direction; return the given position of each generated token, or -1 if it has none."""

    @property
    @abstractmethod
    def corpus_passes(self) -> int:
        """Number of passes of one direction through the corpus."""

    def align(self, bitext: Bitext, *, runtime: Runtime = Runtime()) -> Directions:
        """Align the words of each sentence pair; an empty sentence has no links."""
        check_lengths(bitext)

        def progress_callback(value: float) -> None:
            done(value)  # of the open stage

        work, links = OneDirection(self, bitext), []
        sides = ((backwards, LocalProgressCallback(progress_callback)) for backwards in (False, True))
        made = runtime.map_parts(work, sides) if self.by_direction else (work(side, runtime) for side in sides)
        for stage in ("aligning, source to target", "aligning, target to source"):
            with runtime.stage(stage) as done:
                links.append(next(made))
        return Directions(*links)


@dataclass(frozen=True, eq=False)
class OneDirection:
    """Training of one direction, and its word alignment."""

    aligner: DirectionalAligner
    bitext: Bitext

    def __call__(self, side: tuple[bool, ProgressCallback], runtime: Runtime) -> Links:
        """Return the links of the direction in which the source is generated (`backwards`), or of the other."""
        backwards, progress_callback = side
        source, target = self.bitext.source, self.bitext.target
        given, generated = (target, source) if backwards else (source, target)
        passes = Passes(progress_callback, 1 + self.aligner.corpus_passes)
        table = TranslationTable(given, generated, progress_callback=passes.next(), runtime=runtime)
        positions = self.aligner.align_direction(table, passes=passes, runtime=runtime)
        return Ragged(*kernels.link_rows(positions, generated.sentences.offsets, backwards))


class Passes:
    """Progress of one direction, from the progress of its passes through the corpus."""

    def __init__(self, done: ProgressCallback, passes: int):
        self._done = done
        self._passes = passes
        self._begun = 0

    def next(self) -> Callable[[float], None]:
        """Begin a pass; return the callback for its own progress."""
        before = self._begun
        self._begun += 1
        return lambda done: self._done((before + done) / self._passes)


def check_lengths(bitext: Bitext) -> None:
    """Refuse sentences too long for the positions of a link."""
    for side, corpus in (("source", bitext.source), ("target", bitext.target)):
        lengths = corpus.sentences.lengths
        if len(lengths) and lengths.max() > MAX_LENGTH:
            row = int(lengths.argmax())
            raise DataError(
                f"{side} line {row + 1} has {lengths[row]} words", expected=f"at most {MAX_LENGTH} for word alignment"
            )


Symmetrisation = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]


def symmetrise(
    directions: Directions, method: Symmetrisation = "grow-diag-final-and", *, runtime: Runtime = Runtime()
) -> Links:
    """Combine both directions; the result is a subset of their union, and rows are sorted.

    `grow-diag` begins with the intersection and adds neighbouring links of words that have none yet (Koehn, Och & Marcu
    2003); `-final` then adds links of either direction if one of their words has none, `-final-and` if both have none.
    Links are tried in the order of atools, so that the result is the same.

    >>> from dragoman.core.corpus import links_of, source_positions
    >>> both = Directions(links_of([[(0, 0), (1, 1)]]), links_of([[(0, 0), (2, 1)]]))
    >>> source_positions(symmetrise(both)).tolist(), source_positions(symmetrise(both, "intersection")).tolist()
    ([0, 1, 2], [0])
    """
    if method not in get_args(Symmetrisation):
        raise UsageError(f"no symmetrisation is called '{method}'; there are {', '.join(get_args(Symmetrisation))}")
    forward, reverse = directions.forward, directions.reverse
    if len(forward) != len(reverse):
        raise DataError(
            f"the word alignments of the two directions have {len(forward)} and {len(reverse)} lines",
            expected="one line for each sentence pair in both",
        )
    both = forward.values, forward.offsets, reverse.values, reverse.offsets
    return Ragged(*kernels.symmetrise_links(*both, get_args(Symmetrisation).index(method), runtime.threads))
