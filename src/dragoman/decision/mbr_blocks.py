"""Minimum Bayes risk some sentences at a time: blocks of lists in, what is chosen of each out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.decision.mbr import Mbr
from dragoman.decision.posterior import Posterior
from dragoman.decision.rule import Decisions
from dragoman.decision.spread_gains import gains_of_blocks
from dragoman.decision.utilities import Utilities
from dragoman.metrics.metric import Metric


@dataclass(frozen=True)
class Block:
    """Some sentences: their candidates and evidence as they were read, and as distinct strings."""

    lists: NBest
    others: NBest
    hypotheses: Posterior
    posterior: Posterior

    @classmethod
    def of(cls, rule: Mbr, lists: NBest, others: NBest, path: Path) -> Block:
        """The block, with the distribution that the evidence of that file stands for."""
        try:
            posterior = rule.posterior(others)
        except DataError as error:
            raise DataError(str(error), path=path) from None
        hypotheses = posterior if others is lists else Posterior.of_nbest(lists, weights_from="uniform")
        return cls(lists, others, hypotheses, posterior)


@dataclass(frozen=True)
class Decided:
    """A block with the gains of its hypotheses, and what they choose."""

    block: Block
    gains: NDArray[np.float64]
    matrix: NDArray[np.float32]
    chosen: Decisions

    @classmethod
    def of(cls, block: Block, gains: NDArray[np.float64], matrix: NDArray[np.float32]) -> Decided:
        """Choose by the gains."""
        found = block.hypotheses
        return cls(block, gains, matrix, Decisions.of_best(found.vocab, found.strings, gains, found.sentences))


def decided_by_utilities(blocks: Iterable[Block], path: Path) -> Iterator[Decided]:
    """Decide by gains that were made elsewhere."""
    for block in blocks:
        known = Utilities.read(path, block.lists, block.others)
        yield Decided.of(block, known.expected(block.hypotheses, block.posterior), np.empty(0, np.float32))


def decided_by_metric(
    blocks: Iterable[Block],
    metric: Metric,
    *,
    matrix: bool = False,
    runtime: Runtime = Runtime(),
) -> Iterator[Decided]:
    """Decide by the gains of a metric, whoever works them out."""
    waiting = deque[Block]()

    def sides() -> Iterator[tuple[Posterior, Posterior]]:
        for block in blocks:
            waiting.append(block)
            yield block.hypotheses, block.posterior

    for gains, cells in gains_of_blocks(metric, sides(), matrix=matrix, runtime=runtime):
        yield Decided.of(waiting.popleft(), gains, cells)
