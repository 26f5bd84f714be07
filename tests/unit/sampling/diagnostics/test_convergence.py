"""Chains whose autocorrelation, effective sample size and R-hat are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import norm, rankdata

from dragoman.core.errors import UsageError
from dragoman.sampling.diagnostics.convergence import (
    autocorrelation,
    effective_sample_size,
    r_hat_of_counts,
    rank_normalise,
    split_r_hat,
)


def autoregressive(factor, chains=4, samples=20_000, seed=1):
    """Chains with x' = factor · x + noise, from their stationary distribution, which has variance 1."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, np.sqrt(1 - factor**2), (chains, samples))
    noise[:, 0] = rng.normal(size=chains)
    return lfilter([1.0], [1.0, -factor], noise, axis=1)


@pytest.mark.parametrize("shape", [(1, 7), (3, 8), (2, 1), (2, 33)])
def test_autocorrelation_by_definition(shape):
    values = np.random.default_rng(3).normal(size=shape)
    values[0] = values[0].cumsum()
    deviations = values - values.mean(axis=1, keepdims=True)
    samples = shape[1]
    expected = [
        np.mean([(row[: samples - lag] * row[lag:]).sum() / (row**2).sum() if samples > 1 else 1 for row in deviations])
        for lag in range(samples)
    ]
    assert autocorrelation(values) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("factor", [0.95, 0.7, 0.3, 0.0, -0.5])
def test_autoregressive_chains(factor):
    values = autoregressive(factor)
    assert autocorrelation(values)[:6] == pytest.approx(factor ** np.arange(6), abs=0.05)
    # The variance of a mean of n is (1 + factor) / (1 - factor) / n.
    expected = values.size * (1 - factor) / (1 + factor)
    assert effective_sample_size(values) == pytest.approx(expected, rel=0.12)
    assert effective_sample_size(rank_normalise(np.exp(values))) == pytest.approx(expected, rel=0.12)
    assert split_r_hat(values) < 1.01


def test_effective_sample_size_predicts_the_variance_of_means():
    values = autoregressive(0.8, chains=400, samples=1000)
    expected = 1 / np.var(values.mean(axis=1))
    sizes = [effective_sample_size(values[i : i + 1]) for i in range(400)]
    assert np.mean(sizes) == pytest.approx(expected, rel=0.15)


def test_chains_that_disagree():
    values = autoregressive(0.5)
    assert split_r_hat(values + np.array([[0], [0], [0], [1.0]])) > 1.1
    assert effective_sample_size(values + np.array([[0], [0], [0], [1.0]])) < 100
    drifting = values[:1] + np.linspace(0, 2, values.shape[1])
    assert split_r_hat(drifting) > 1.1


def test_r_hat_by_definition():
    values = np.array([[1.0, 2, 4, 8, 5], [3, 3, 2, 2, 9]])
    halves = np.array([[1.0, 2], [3, 3], [8, 5], [2, 9]])  # the middle is left out
    within = np.mean([0.5, 0, 4.5, 24.5])
    between = np.var(halves.mean(axis=1), ddof=1)
    assert split_r_hat(values) == pytest.approx(np.sqrt((within / 2 + between) / within))


def test_chains_that_stand_still():
    same, apart = np.full((2, 10), 0.1), np.repeat([[0.1], [0.7]], 10, axis=1)
    assert split_r_hat(same) == split_r_hat(rank_normalise(same)) == 1
    assert split_r_hat(apart) == split_r_hat(rank_normalise(apart)) == np.inf
    assert effective_sample_size(same) == 20
    assert effective_sample_size(apart) <= 2
    assert (autocorrelation(apart) == 1).all()


def test_ranks():
    values = np.random.default_rng(5).integers(0, 5, (3, 11)) * 0.1
    expected = norm.ppf((rankdata(values.ravel()) - 3 / 8) / (values.size + 1 / 4)).reshape(values.shape)
    assert rank_normalise(values) == pytest.approx(expected, abs=1e-12)
    assert (rank_normalise(np.exp(values)) == rank_normalise(values)).all()


def test_what_makes_no_sense_is_refused():
    with pytest.raises(UsageError, match=r"shape \(5,\)"):
        effective_sample_size(np.zeros(5))
    with pytest.raises(UsageError, match="at least one sample"):
        autocorrelation(np.zeros((2, 0)))
    with pytest.raises(UsageError, match="3 samples per chain; expected at least 4"):
        split_r_hat(np.zeros((2, 3)))
    with pytest.raises(UsageError, match="not finite"):
        rank_normalise(np.array([[1.0, np.nan]]))


def test_r_hat_of_counts_is_that_of_whole_chains():
    rng = np.random.default_rng(5)
    values = np.sort(rng.normal(size=30))
    trace = np.array([rng.integers(low, 30, 50) for low in (0, 4, 12)])
    counts = np.stack([np.bincount(row, minlength=30) for row in trace], axis=1)
    chains = values[trace]
    within, between = chains.var(axis=1, ddof=1).mean(), chains.mean(axis=1).var(ddof=1)
    expected = np.sqrt((within * 49 / 50 + between) / within)
    assert r_hat_of_counts(values, counts) == pytest.approx(expected)
    assert expected > 1.05
    # Chains that the time limit left without samples do not count.
    assert r_hat_of_counts(values, np.insert(counts, 1, 0, axis=1)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "counts", "expected"),
    [
        ([0.0], [[5, 5]], 1.0),
        ([-0.1, -0.1 - 1e-16], [[5, 0], [0, 5]], 1.0),
        ([-0.1, -0.3], [[7, 0], [0, 7]], np.inf),
        ([-0.1, -0.3], [[3], [4]], 1.0),
        ([-0.1, -0.3], [[1, 0], [0, 1]], 1.0),
        ([-0.1, -0.3], [[0, 0], [0, 0]], 1.0),
    ],
)
def test_r_hat_of_counts_at_its_limits(values, counts, expected):
    assert r_hat_of_counts(np.array(values), np.array(counts)) == expected
