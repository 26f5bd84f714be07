"""Agreement of the chains of sentences, in two numbers a sentence and one warning for a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.sampling.diagnostics.convergence import effective_sample_size, r_hat_of_counts

#: Chains with an R-hat above this call for more samples.
CUSTOMARY_R_HAT = 1.1
#: Shorter chains may differ as much by chance: of 50 independent samples, one pair of chains in 800 differs so.
SHORTEST_CHAIN = 50


@dataclass(frozen=True, eq=False)
class ChainAgreement:
    """R-hat over chains, and the effective sample size, of the scores of each sentence's samples.

    `samples` is the number of samples of the shortest chain.
    """

    r_hats: NDArray[np.float64]
    effective_samples: NDArray[np.float64]
    samples: NDArray[np.int64]

    @classmethod
    def of(cls, samples: Samples, trace: NDArray[np.int32]) -> ChainAgreement:
        """Compute them for samples in the order of time; chains whose time was over are as short as the shortest."""
        parts = [samples.sentence(i) for i in range(len(samples))]
        r_hats = [r_hat_of_counts(part.scores, part.counts) for part in parts]
        shortest = (trace >= 0).sum(axis=2).min(axis=1).tolist()
        rows = [row[:, :length] for row, length in zip(trace, shortest, strict=True)]
        sizes = [effective_sample_size(part.scores[row]) for part, row in zip(parts, rows, strict=True)]
        return cls(np.array(r_hats, np.float64), np.array(sizes, np.float64), np.array(shortest, np.int64))

    def sentence(self, i: int) -> ChainAgreement:
        """Return the numbers of one sentence."""
        at = slice(i, i + 1)
        return ChainAgreement(self.r_hats[at], self.effective_samples[at], self.samples[at])


@dataclass
class AgreementReport:
    """Collects the agreement of the chains of a text, to warn once, with numbers, where they disagree."""

    parts: list[ChainAgreement] = field(default_factory=list)

    def add(self, part: ChainAgreement | None) -> None:
        """Add some sentences; None stands for sentences without samples."""
        if part is not None:
            self.parts.append(part)

    @property
    def r_hats(self) -> NDArray[np.float64]:
        """R-hat of each sentence."""
        return _joined([part.r_hats for part in self.parts])

    @property
    def effective_samples(self) -> NDArray[np.float64]:
        """The effective sample size of each sentence."""
        return _joined([part.effective_samples for part in self.parts])

    def warn(self, runtime: Runtime) -> None:
        """Warn if the chains of some sentence disagree."""
        r_hats = self.r_hats
        long = np.array([length for part in self.parts for length in part.samples.tolist()]) >= SHORTEST_CHAIN
        apart = int(((r_hats > CUSTOMARY_R_HAT) & long).sum())
        if apart:
            runtime.warn(
                f"the chains of {apart:,} of {len(r_hats):,} sentences disagree: the R-hat of their scores is above "
                f"{CUSTOMARY_R_HAT} (largest: {r_hats.max():.2f}), and the smallest effective sample size is "
                f"{self.effective_samples.min():.0f}; use more samples, or a longer burn-in"
            )


def _joined(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate(parts) if parts else np.empty(0)
