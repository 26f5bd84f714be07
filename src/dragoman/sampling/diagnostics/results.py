"""The numbers of a diagnosis, sentence by sentence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.sampling.diagnostics.divergence import (
    Trace,
    cross_entropy,
    sample_counts,
    sample_entropy,
    sampler_divergence,
)


@dataclass(frozen=True, eq=False)
class Curve:
    """The distribution of the first samples, at growing sizes: its entropy and its divergence from the exact one.

    All in nats. Divergences and `cross_entropy` (the mean of -ln p over all samples, which estimates the exact entropy)
    are None without exact probabilities. `distinct` is how many different items there are among all samples.
    """

    entropy: list[float]
    divergence: list[float] | None
    cross_entropy: float | None
    distinct: int

    @classmethod
    def of(cls, trace: Trace, sizes: list[int], log_probabilities: NDArray[np.float64] | None) -> Curve:
        """Follow a trace of items, whose log-probabilities are given if they are known."""
        counts = [sample_counts(trace, size) for size in sizes]
        known = log_probabilities
        return cls(
            entropy=[sample_entropy(part) for part in counts],
            divergence=None if known is None else [sampler_divergence(part, known) for part in counts],
            cross_entropy=None if known is None else cross_entropy(counts[-1], known),
            distinct=int((counts[-1] > 0).sum()),
        )


@dataclass(frozen=True, eq=False)
class Curves:
    """Derivations, and the translations that they write."""

    derivations: Curve
    translations: Curve


@dataclass(frozen=True, eq=False)
class Missed:
    """What a lattice or a list lacks: a share of the samples, of the different derivations among them, and of p.

    The last is None without exact probabilities.
    """

    samples: float
    derivations: float
    probability: float | None


@dataclass(frozen=True, eq=False)
class RunDiagnostics:
    """How the chains that began in one way did.

    `effective_samples`, `r_hat` (split and rank-normalised) and `autocorrelation` are those of the score.
    `by_nbest` is about the list of as many derivations as there are different ones among the samples. `accepted` has
    the share of each kind of move that led to another derivation, None where it was never tried.
    """

    initial: str
    curves: Curves
    effective_samples: float
    r_hat: float
    autocorrelation: list[float]
    by_lattice: Missed
    by_nbest: Missed
    accepted: dict[str, float | None]


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected features according to some evidence: a list or samples of a given size, or a lattice.

    `log_derivations` is the logarithm of how many derivations that are; lists can be shorter than they should be.
    """

    evidence: str
    size: int | None
    log_derivations: float
    values: list[float]


@dataclass(frozen=True, eq=False)
class SentenceDiagnostics:
    """All numbers of one sentence; what only an exhaustive search knows is None where that was too large (`exact`).

    `sizes` are those of the curves, and count the samples of all chains. `r_hat` is that of all chains together,
    however they began. `independent` are curves of independent draws from the exact distribution. `components` is the
    number of parts of the segmentation graph. The first of `expectations`, if there are exact ones, is exact.
    """

    number: int
    source: str
    words: int
    components: int
    exact: bool
    log_derivations: float | None
    derivation_entropy: float | None
    lattice_log_derivations: float
    sizes: list[int]
    runs: list[RunDiagnostics]
    independent: Curves | None
    r_hat: float
    features: tuple[str, ...]
    expectations: list[Expectation]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists and dictionaries, for JSON."""
        return asdict(self)
