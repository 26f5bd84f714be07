from __future__ import annotations

import numpy as np
import pytest

from dragoman import kernels
from oracles.tuning_margin import sample_pairs


@pytest.mark.parametrize("threshold", [0.0, 0.3])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("largest", [True, False])
def test_sampled_pairs_equal_the_slow_twin(threshold: float, threads: int, largest: bool) -> None:
    rng = np.random.default_rng(5)
    bounds = np.concatenate([[0], np.cumsum(rng.integers(1, 15, 50))]).astype(np.int64)
    scores = rng.integers(0, 6, bounds[-1]) / 5  # with many ties
    seed = 2**63 - 25
    better, worse = kernels.sample_pairs(bounds, scores, 60, 7, threshold, largest, seed, threads, None)
    expected = sample_pairs(bounds.tolist(), scores.tolist(), 60, 7, threshold, largest, seed)
    assert list(zip(better.tolist(), worse.tolist(), strict=True)) == expected
    assert (scores[better] - scores[worse] > threshold).all()


def test_candidates_are_drawn_alike() -> None:
    size, sentences = 10, 100_000
    bounds = np.arange(0, size * sentences + 1, size)
    better, worse = kernels.sample_pairs(
        bounds, np.tile(np.arange(float(size)), sentences), 1, 1, 0.0, True, 1, 2, None
    )
    counts = np.zeros((size, size))
    np.add.at(counts, (better % size, worse % size), 1)
    # Each of the 45 pairs is drawn in two orders, with probability 2 / 100: binomial, sd 44.
    drawn = counts[np.tril_indices(size, -1)]
    assert drawn.sum() == len(better)
    assert np.abs(drawn - sentences / 50).max() < 5 * 44


def test_short_lists_give_each_pair_once() -> None:
    better, worse = kernels.sample_pairs(np.array([0, 3]), np.array([1.0, 3.0, 2.0]), 500, 50, 0.0, True, 1, 1, None)
    assert (better[0], worse[0]) == (1, 0)
    assert sorted(zip(better.tolist(), worse.tolist(), strict=True)) == [(1, 0), (1, 2), (2, 0)]
