"""Expected gains that are spread over workers: lists go out in portions, and gains come back in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dragoman.core.progress import ShareDone
from dragoman.core.runtime import Runtime
from dragoman.decision.gains import Gains, check_sides, expected_gains
from dragoman.decision.posterior import Posterior
from dragoman.metrics.metric import Metric

#: Pairs of a hypothesis and a string of the evidence that are a portion where several are worked on at a time: some
#: tenths of a second for BLEU, and little to send beside that.
_PAIRS = 1 << 18

#: Times as many portions as are otherwise in memory are under way: enough that no worker waits for the command to read.
_AHEAD = 4

#: A portion: hypotheses and evidence of the same sentences.
Sides = tuple[Posterior, Posterior]


@dataclass(frozen=True)
class Gain:
    """What is done with a portion; this process hears how far it is, which is not sent."""

    metric: Metric
    matrix: bool
    share: ShareDone | None = None

    def __call__(self, sides: Sides, runtime: Runtime) -> Gains:
        """The gains of a portion; the metric and the evidence are all that they depend on."""
        return expected_gains(self.metric, *sides, matrix=self.matrix, share=self.share, runtime=runtime)

    def __reduce__(self) -> tuple[type[Gain], tuple[Metric, bool]]:
        return Gain, (self.metric, self.matrix)


def spread_gains(
    metric: Metric,
    hypotheses: Posterior,
    evidence: Posterior,
    *,
    matrix: bool = False,
    runtime: Runtime = Runtime(),
) -> Gains:
    """Return what `expected_gains` does, whoever works."""
    (gains,) = gains_of_blocks(metric, [(hypotheses, evidence)], matrix=matrix, runtime=runtime)
    return gains


def gains_of_blocks(
    metric: Metric,
    blocks: Iterable[Sides],
    *,
    matrix: bool = False,
    runtime: Runtime = Runtime(),
) -> Iterator[Gains]:
    """Yield what `expected_gains` does for blocks of sentences, in order.

    The next block is asked for when one is done, or so far ahead that workers have something to do. The share that
    is told is that of a block.
    """
    under_way = deque[_Place]()
    cut = _portions if runtime.parts_at_once > 1 else _whole
    portions = (portion for sides in _checked(metric, blocks) for portion in cut(*sides, under_way))
    expected, cells = [np.empty(0)], [np.empty(0, np.float32)]
    with runtime.stage("expected gains") as share:
        made = runtime.map_parts(Gain(metric, matrix, share), portions, window=_AHEAD * runtime.parts_at_once)
        for gains, part in made:
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


def _whole(hypotheses: Posterior, evidence: Posterior, places: deque[_Place]) -> Iterator[Sides]:
    """Leave them as they are, so that threads share all sentences of a block."""
    places.append(_Place(1.0, last=True))
    yield hypotheses, evidence


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
