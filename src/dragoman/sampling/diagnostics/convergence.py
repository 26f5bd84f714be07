"""Convergence of chains, and divergence of samples from the true distribution.

All functions take one number per sample (the score, say) as a matrix with a row for each chain.

A trace has a row for each chain, and in it the number of the item (a derivation or a translation) at each step. The
first n samples are the first n / chains of each chain.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError

Values = NDArray[np.floating]


def autocorrelation(values: Values) -> NDArray[np.float64]:
    """Return the autocorrelation at lags 0, 1, …, averaged over chains; 1 at lag 0.

    Each chain's own mean and variance are used, sums are divided by the number of samples (which damps large lags),
    and all lags come from one Fourier transform. A chain that never moves has autocorrelation 1 everywhere.
    """
    covariances = _autocovariances(_checked(values))
    variances = covariances[:, :1]
    with np.errstate(invalid="ignore"):
        correlations = covariances / variances
    return np.asarray(np.where(variances > 0, correlations, 1.0).mean(axis=0))


def effective_sample_size(values: Values) -> float:
    """Return the number of independent draws that would estimate the mean as well as all samples of all chains.

    Samples / (1 + 2 Σ autocorrelations), where correlations count differences between chains too (Gelman et al.,
    *Bayesian data analysis*, 2013, 11.8) and are summed over Geyer's (1992) initial monotone sequence: in pairs,
    until the sum of a pair is no longer positive, no pair counting more than the one before. Alternating chains can
    have more effective samples than samples; the limit is samples · log10(samples) (Vehtari et al. 2021).
    """
    values = _checked(values)
    chains, samples = values.shape
    covariances = _autocovariances(values).mean(axis=0) * samples / max(samples - 1, 1)
    within = float(covariances[0])
    total = _pooled_variance(values, within)
    if not total > 0:  # one value only
        return float(values.size)
    correlations = 1 - (within - covariances) / total
    correlations[0] = 1.0
    pairs = correlations[: samples - samples % 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    kept = np.minimum.accumulate(pairs[: ends[0]] if len(ends) else pairs)
    time = max(2 * float(kept.sum()) - 1, 1 / math.log10(max(values.size, 11)))
    return float(chains * samples / time)


def split_r_hat(values: Values) -> float:
    """Return Gelman and Rubin's R-hat with every chain cut in half: near 1 if all halves look the same.

    The square root of the ratio of the variance of all samples to the variance within halves, which detects drifting
    chains as well as chains that disagree (*Bayesian data analysis*, 2013, 11.4). Chains that all stand still at the
    same value have 1, at different values infinity. Values above 1.01 (strict) or 1.1 (customary) call for more
    samples.
    """
    values = _checked(values)
    half = values.shape[1] // 2
    if half < 2:
        raise UsageError(f"there are {values.shape[1]} samples per chain; expected at least 4 for R-hat")
    halves = np.concatenate([values[:, :half], values[:, -half:]])
    within = float(halves.var(axis=1, ddof=1).mean())
    total = _pooled_variance(halves, within)
    if within > 0:
        return float(np.sqrt(total / within))
    return np.inf if total > 0 else 1.0


def r_hat_of_counts(values: NDArray[np.float64], counts: NDArray[np.integer]) -> float:
    """Return Gelman and Rubin's R-hat of whole chains, where the order of samples is not known.

    Chain `c` had the value `values[i]` in `counts[i, c]` samples. Without the order chains cannot be cut in half, so
    that this detects chains that disagree, not those that drift together. 1 with fewer than two chains of at least two
    samples.

    >>> r_hat_of_counts(np.array([1.0, 2.0]), np.array([[4, 0], [0, 4]]))
    inf
    """
    sizes = counts.sum(axis=0)
    counts, sizes = counts[:, sizes > 1], sizes[sizes > 1]
    visited = values[counts.sum(axis=1) > 0]
    # Rounding errors must not look like variance.
    smallest = 1e-12 * float(np.abs(visited).max(initial=0.0))
    if len(sizes) < 2 or float(np.ptp(visited)) <= smallest:
        return 1.0
    means = values @ counts / sizes
    squares = ((values[:, None] - means) ** 2 * counts).sum(axis=0)
    within, between = float((squares / (sizes - 1)).mean()), float(means.var(ddof=1))
    total = within * (1 - 1 / float(sizes.mean())) + between
    return float(np.sqrt(total / within)) if within > smallest**2 else np.inf


def rank_normalise(values: Values) -> NDArray[np.float64]:
    """Replace values by normal quantiles of their ranks among all samples; equal values get their mean rank.

    R-hat and the effective sample size of the result do not depend on the scale of the values and are at ease with
    long tails (Vehtari et al. 2021, *Rank-normalization, folding, and localization: an improved R-hat*, equation 14).
    """
    from scipy.special import ndtri

    values = _checked(values)
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(ndtri((ranks[places.reshape(values.shape)] - 0.375) / (values.size + 0.25)))


def _autocovariances(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the autocovariances of each chain by lag (Wiener & Khinchin)."""
    samples = values.shape[1]
    deviations = values - values.mean(axis=1, keepdims=True)
    # Rounding errors must not look like variance.
    deviations[np.ptp(values, axis=1) == 0] = 0.0
    size = 1 << (2 * samples - 1).bit_length()  # zeros keep the end from running into the beginning
    power = np.abs(np.fft.rfft(deviations, size)) ** 2
    return np.asarray(np.fft.irfft(power, size)[:, :samples] / samples)


def _pooled_variance(values: NDArray[np.float64], within: float) -> float:
    """Estimate the variance of the target distribution; too large while chains still differ."""
    chains, samples = values.shape
    between = float(values.mean(axis=1).var(ddof=1)) if chains > 1 and np.ptp(values) > 0 else 0.0
    return float(within * (samples - 1) / samples + between)


def _checked(values: Values) -> NDArray[np.float64]:
    if values.ndim != 2 or 0 in values.shape:
        raise UsageError(f"found values of shape {values.shape}; expected a row for each chain and at least one sample")
    if not bool(np.isfinite(values).all()):
        raise UsageError("some of the values are not finite; expected numbers")
    return values.astype(np.float64)


Trace = NDArray[np.integer]


def sample_counts(trace: Trace, size: int, items: int = 0) -> NDArray[np.int64]:
    """Count each item among the first `size` samples; return at least `items` counts."""
    return np.bincount(trace[:, : size // len(trace)].ravel(), minlength=items)


def sampler_divergence(counts: NDArray[np.integer], log_probabilities: NDArray[np.float64]) -> float:
    """Return Arun's sampler divergence (5.13): Σ q(x) ln(q(x) / p(x)) over the sampled items x, in nats.

    q are relative frequencies of samples, p the exact probabilities. This is the Kullback-Leibler divergence of q from
    p. Even for n independent draws it is above 0: by about (items - 1) / 2n if there are far fewer items than draws,
    and about the entropy of p minus ln n if there are far more.

    >>> round(sampler_divergence(np.array([1, 1]), np.log([0.5, 0.25])), 4)
    0.3466
    """
    seen = counts > 0
    shares = _shares(counts[seen])
    return max(float((shares * (np.log(shares) - log_probabilities[: len(counts)][seen])).sum()), 0.0)


def sample_entropy(counts: NDArray[np.integer]) -> float:
    """Return the entropy of relative frequencies (6.6 for derivations, 6.7 for translations), in nats.

    It is at most ln n for n samples, and so too low if the distribution is flat.

    >>> round(sample_entropy(np.array([2, 0, 2])), 4)
    0.6931
    """
    shares = _shares(counts[counts > 0])
    return max(float(-(shares * np.log(shares)).sum()), 0.0)


def cross_entropy(counts: NDArray[np.integer], log_probabilities: NDArray[np.float64]) -> float:
    """Return the mean of -ln p(x) over samples, an unbiased estimate of the entropy of p.

    The sampler divergence is this minus the entropy of the samples.
    """
    seen = counts > 0
    return float(-(_shares(counts[seen]) * log_probabilities[: len(counts)][seen]).sum())


def round_sizes(samples: int, chains: int) -> list[int]:
    """Return round numbers of samples: 100, 200, 500, 1000, … and all; each a multiple of the number of chains.

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
