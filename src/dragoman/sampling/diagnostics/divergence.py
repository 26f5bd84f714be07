"""How far the distribution of samples is from the exact one, as samples come in.

A trace has a row for each chain and holds what it was at in each step, as a number of some item: a derivation, or a
translation. The first n samples are the first n / chains of each chain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError

Trace = NDArray[np.integer]


def sample_counts(trace: Trace, size: int, items: int = 0) -> NDArray[np.int64]:
    """How often each item is among the first `size` samples; for the first `items`, or as many as there are."""
    return np.bincount(trace[:, : size // len(trace)].ravel(), minlength=items)


def sampler_divergence(counts: NDArray[np.integer], log_probabilities: NDArray[np.float64]) -> float:
    """Arun's sampler divergence (5.13): Σ q(x) ln(q(x) / p(x)) over the items x that were sampled, in nats.

    q are the shares of samples, p the exact probabilities. This is the Kullback-Leibler divergence of q from p. Even of
    n independent draws it is above 0: by about (items - 1) / 2n if there are far fewer items than draws, and about the
    entropy of p less ln n if there are far more.

    >>> round(sampler_divergence(np.array([1, 1]), np.log([0.5, 0.25])), 4)
    0.3466
    """
    seen = counts > 0
    shares = _shares(counts[seen])
    return max(float((shares * (np.log(shares) - log_probabilities[: len(counts)][seen])).sum()), 0.0)


def sample_entropy(counts: NDArray[np.integer]) -> float:
    """The entropy of the shares of samples (6.6 for derivations, 6.7 for translations), in nats.

    It cannot be above ln n for n samples: too low if the distribution is flat.

    >>> round(sample_entropy(np.array([2, 0, 2])), 4)
    0.6931
    """
    shares = _shares(counts[counts > 0])
    return max(float(-(shares * np.log(shares)).sum()), 0.0)


def cross_entropy(counts: NDArray[np.integer], log_probabilities: NDArray[np.float64]) -> float:
    """The mean of -ln p(x) over samples: where p is known, an unbiased estimate of its entropy.

    The sampler divergence is this less the entropy of the samples.
    """
    seen = counts > 0
    return float(-(_shares(counts[seen]) * log_probabilities[: len(counts)][seen]).sum())


def round_sizes(samples: int, chains: int) -> list[int]:
    """Numbers of samples to look at: 100, 200, 500, 1000 and so on, and all; each a multiple of the chains.

    >>> round_sizes(700, 3)
    [99, 198, 498, 999, 1998, 2100]
    """
    if samples < 1 or chains < 1:
        raise UsageError(f"there are {samples} samples and {chains} chains; expected at least one of each")
    total = samples * chains
    steps = (step * 10**power for power in range(2, len(str(total))) for step in (1, 2, 5))
    return [size // chains * chains for size in steps if chains <= size < total] + [total]


def _shares(counts: NDArray[np.integer]) -> NDArray[np.float64]:
    if len(counts) == 0:
        raise UsageError("there are no samples")
    return np.asarray(counts / counts.sum())
