"""What every word aligner is: a class of options that turns a bitext into the links of two directions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError
from dragoman.core.links import Links
from dragoman.core.options import Options
from dragoman.core.progress import SILENT, Progress, ShareDone
from dragoman.core.ragged import Ragged
from dragoman.core.work.workers import Workers
from dragoman.core.workspace import Workspace
from dragoman.training.align.spread import OneDirection
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
    def align(
        self,
        bitext: Bitext,
        *,
        workspace: Workspace | None = None,
        workers: Workers | None = None,
        threads: int = 1,
        progress: Progress = SILENT,
    ) -> Directions:
        """Align the words of each sentence pair; an empty sentence has no links.

        A `workspace` says how much memory there is; an aligner may need more. `workers` that are elsewhere do what can
        be done there.
        """


@dataclass(frozen=True)
class DirectionalAligner(Aligner):
    """An aligner whose two directions know nothing of each other."""

    #: Whether workers that are elsewhere get a direction each, and not ranges of words.
    by_direction: ClassVar[bool] = False

    @abstractmethod
    def align_direction(
        self, table: TranslationTable, *, threads: int, progress: Progress, passes: Passes
    ) -> NDArray[np.int32]:
        """Train one direction; return the given position of each generated token, or -1 where it has none."""

    @property
    @abstractmethod
    def corpus_passes(self) -> int:
        """How often one direction walks through the corpus."""

    def align(
        self,
        bitext: Bitext,
        *,
        workspace: Workspace | None = None,
        workers: Workers | None = None,
        threads: int = 1,
        progress: Progress = SILENT,
    ) -> Directions:
        """Align the words of each sentence pair; an empty sentence has no links."""
        check_lengths(bitext)
        if self.by_direction and workers is not None and workers.remote:
            return self._by_directions(bitext, workers, progress)
        links = []
        for given, generated, stage in (
            (bitext.source, bitext.target, "align, source to target"),
            (bitext.target, bitext.source, "align, target to source"),
        ):
            with progress.stage(stage) as done:
                positions = self.one_direction(
                    given,
                    generated,
                    workspace=workspace,
                    workers=workers,
                    threads=threads,
                    progress=progress,
                    share=done,
                )
                links.append(_links(positions, generated, generated_is_source=generated is bitext.source))
        return Directions(*links)

    def one_direction(
        self,
        given: Corpus,
        generated: Corpus,
        *,
        workspace: Workspace | None = None,
        workers: Workers | None = None,
        threads: int = 1,
        progress: Progress,
        share: ShareDone,
    ) -> NDArray[np.int32]:
        """Make what one direction needs, and train it."""
        passes = Passes(share, 1 + self.corpus_passes)
        table = TranslationTable(
            given, generated, workspace=workspace, workers=workers, threads=threads, share=passes.next()
        )
        return self.align_direction(table, threads=threads, progress=progress, passes=passes)

    def _by_directions(self, bitext: Bitext, workers: Workers, progress: Progress) -> Directions:
        """Give each direction to a worker."""
        links = []
        with progress.stage("align, both directions") as done:
            for backwards, (positions, said) in enumerate(workers.map(OneDirection(self, bitext), [False, True])):
                said.tell(progress)
                generated = bitext.source if backwards else bitext.target
                links.append(_links(positions, generated, generated_is_source=bool(backwards)))
                done(len(links) / 2)
        return Directions(*links)


class Passes:
    """The share done of one direction, from the shares of its passes through the corpus."""

    def __init__(self, done: ShareDone, passes: int):
        self._done = done
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


def _links(positions: NDArray[np.int32], generated: Corpus, *, generated_is_source: bool) -> Links:
    return Ragged(*kernels.link_rows(positions, generated.sentences.offsets, generated_is_source))
