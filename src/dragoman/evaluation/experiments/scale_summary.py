"""Do the weights need rescaling? The scales that were chosen for the runs of one system, and what others lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.evaluation.experiments.scale_choice import ChosenScale
from dragoman.evaluation.statistics.spread import geometric_mean, mean_sd


@dataclass(frozen=True)
class ScaleSummary:
    """The choices of all runs of a system, which had the same scales to choose from."""

    chosen: Sequence[ChosenScale]

    @property
    def lost(self) -> dict[float, NDArray[np.float64]]:
        """For each scale, by how much each run's score on the tuning set differs from that of its best scale."""
        best = np.array([run.scores[run.scale] for run in self.chosen])
        return {scale: np.array([run.scores[scale] for run in self.chosen]) - best for scale in self.chosen[0].scores}

    @property
    def at_the_edge(self) -> int:
        """How many runs chose the smallest or the largest scale, beyond which there may be better ones."""
        return sum(run.scale in (min(run.scores), max(run.scores)) for run in self.chosen)

    def row(self) -> tuple[str, str, str]:
        """The scales, how many are at the edge, and the loss at scale 1 if that was one to choose."""
        lost = self.lost
        return (
            geometric_mean([run.scale for run in self.chosen]),
            f"{self.at_the_edge} of {len(self.chosen)} runs",
            mean_sd(lost[1.0]) if 1.0 in lost else "",
        )
