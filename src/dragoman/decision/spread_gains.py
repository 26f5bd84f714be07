"""Expected gains that are spread over workers: lists go out in portions, and gains come back in order."""

from __future__ import annotations

from collections.abc import Iterator
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
    who = workers or ThreadWorkers()
    if not who.remote:
        return expected_gains(metric, hypotheses, evidence, matrix=matrix, threads=who.count, progress=progress)
    check_sides(metric, hypotheses, evidence)
    expected, cells = [np.empty(0)], [np.empty(0, np.float32)]
    done = 0
    with progress.stage("expected gains") as share:
        for gains, part in who.map(Gain(metric, matrix), _portions(hypotheses, evidence)):
            expected.append(gains)
            cells.append(part)
            done += len(gains)
            share(done / max(1, len(hypotheses.strings)))
    return np.concatenate(expected), np.concatenate(cells)


def _portions(hypotheses: Posterior, evidence: Posterior) -> Iterator[Sides]:
    """Cut both into portions of about as many pairs, with the words of their own only."""
    pairs = np.cumsum(np.diff(hypotheses.sentences) * np.diff(evidence.sentences))
    first = 0
    while first < len(hypotheses):
        before = pairs[first - 1] if first else 0
        end = max(first + 1, int(np.searchsorted(pairs, before + _PAIRS, "right")))
        ours = hypotheses.part(first, end)
        yield ours, ours if evidence is hypotheses else evidence.part(first, end)
        first = end
