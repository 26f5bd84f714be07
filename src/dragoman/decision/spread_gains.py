"""Expected gains that are spread over workers: lists go out in portions, and gains come back in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dragoman.core.progress import SILENT, Progress
from dragoman.core.work.workers import ThreadWorkers, Workers
from dragoman.decision.gains import Gains, check_sides, expected_gains
from dragoman.decision.posterior import Posterior
from dragoman.metrics.metric import Metric

#: Pairs of a hypothesis and a string of the evidence that are a portion: some tenths of a second for BLEU, and little
#: to send beside that.
_PAIRS = 1 << 18

#: Portions for each worker that are under way or wait to be taken: enough that none waits for the command to read.
_AHEAD = 8

#: A portion: hypotheses and evidence of the same sentences.
Sides = tuple[Posterior, Posterior]


@dataclass(frozen=True)
class Gain:
    """What a worker does with a portion."""

    metric: Metric
    matrix: bool

    def __call__(self, sides: Sides) -> Gains:
        """The gains of a portion; the metric and the evidence are all that they depend on."""
        return expected_gains(self.metric, *sides, matrix=self.matrix)


def spread_gains(
    metric: Metric,
    hypotheses: Posterior,
    evidence: Posterior,
    *,
    matrix: bool = False,
    workers: Workers | None = None,
    progress: Progress = SILENT,
) -> Gains:
    """Return what `expected_gains` does, whoever works."""
    (gains,) = gains_of_blocks(metric, [(hypotheses, evidence)], matrix=matrix, workers=workers, progress=progress)
    return gains


def gains_of_blocks(
    metric: Metric,
    blocks: Iterable[Sides],
    *,
    matrix: bool = False,
    workers: Workers | None = None,
    progress: Progress = SILENT,
) -> Iterator[Gains]:
    """Yield what `expected_gains` does for blocks of sentences, in order.

    The next block is asked for when one is done, or so far ahead that workers have something to do. The share that
    `progress` is told is that of a block.
    """
    who = workers or ThreadWorkers()
    checked = _checked(metric, blocks)
    if not who.remote:
        for sides in checked:
            yield expected_gains(metric, *sides, matrix=matrix, threads=who.count, progress=progress)
        return
    under_way = deque[_Place]()
    portions = (portion for sides in checked for portion in _portions(*sides, under_way))
    expected, cells = [np.empty(0)], [np.empty(0, np.float32)]
    with progress.stage("expected gains") as share:
        for gains, part in who.map(Gain(metric, matrix), portions, window=_AHEAD * (who.count + 1)):
            expected.append(gains)
            cells.append(part)
            place = under_way.popleft()
            share(place.share)
            if place.last:
                yield np.concatenate(expected), np.concatenate(cells)
                expected, cells = [np.empty(0)], [np.empty(0, np.float32)]


def _checked(metric: Metric, blocks: Iterable[Sides]) -> Iterator[Sides]:
    before = 0
    for hypotheses, evidence in blocks:
        check_sides(metric, hypotheses, evidence, before)
        yield hypotheses, evidence
        before += len(hypotheses)


@dataclass(frozen=True)
class _Place:
    """Where a portion stands in its block: how much of it is done with it, and whether it is the last."""

    share: float
    last: bool


def _portions(hypotheses: Posterior, evidence: Posterior, places: deque[_Place]) -> Iterator[Sides]:
    """Cut both into portions of about as many pairs, with the words of their own only, and note their places."""
    pairs = np.cumsum(np.diff(hypotheses.sentences) * np.diff(evidence.sentences))
    first, sentences = 0, len(hypotheses)
    while True:
        before = pairs[first - 1] if first else 0
        end = min(sentences, max(first + 1, int(np.searchsorted(pairs, before + _PAIRS, "right"))))
        places.append(_Place(end / max(1, sentences), end == sentences))
        ours = hypotheses.part(first, end)
        yield ours, ours if evidence is hypotheses else evidence.part(first, end)
        if end == sentences:
            return
        first = end
