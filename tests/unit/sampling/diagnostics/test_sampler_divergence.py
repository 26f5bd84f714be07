"""Divergence and entropies of counts, by their definitions and by what theory expects of independent draws."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.sampling.diagnostics.convergence import (
    cross_entropy,
    round_sizes,
    sample_counts,
    sample_entropy,
    sampler_divergence,
)


def test_by_definition():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(20))
    trace = rng.choice(20, (3, 40), p=rng.dirichlet(np.ones(20)))
    for size in (3, 7, 30, 120):
        seen = Counter(trace[:, : size // 3].ravel().tolist())
        q = {item: count / seen.total() for item, count in seen.items()}
        counts = sample_counts(trace, size)
        assert dict(zip(np.flatnonzero(counts).tolist(), counts[counts > 0].tolist(), strict=True)) == seen
        divergence = sum(share * math.log(share / p[item]) for item, share in q.items())
        entropy = -sum(share * math.log(share) for share in q.values())
        assert sampler_divergence(counts, np.log(p)) == pytest.approx(divergence)
        assert sample_entropy(counts) == pytest.approx(entropy)
        assert cross_entropy(counts, np.log(p)) == pytest.approx(divergence + entropy)


def test_independent_draws_are_as_far_as_theory_says():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.full(50, 5.0))
    runs = [rng.multinomial(2000, p) for _ in range(300)]
    assert np.mean([sampler_divergence(run, np.log(p)) for run in runs]) == pytest.approx(49 / 4000, rel=0.05)
    exact = -(p * np.log(p)).sum()
    assert np.mean([cross_entropy(run, np.log(p)) for run in runs]) == pytest.approx(exact, rel=0.001)


def test_the_right_shares_have_no_divergence():
    counts = np.array([1, 2, 5])
    assert sampler_divergence(counts, np.log(counts / 8)) == pytest.approx(0, abs=1e-15)
    assert sampler_divergence(counts, np.log(counts / 8)) >= 0
    assert sample_entropy(np.array([7])) == 0


def test_sizes_are_round_and_end_with_all():
    assert round_sizes(25_000, 2) == [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000]
    assert round_sizes(3, 2) == [6]
    assert round_sizes(1, 300) == [300]
    assert round_sizes(2, 70) == [70, 140]
    with pytest.raises(UsageError, match="0 samples"):
        round_sizes(0, 2)


def test_no_samples():
    with pytest.raises(UsageError, match="no samples"):
        sample_entropy(np.zeros(3, np.int64))
