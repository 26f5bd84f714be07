import numpy as np
import pytest

from dragoman import kernels


@pytest.mark.parametrize(("size", "high", "low"), [(0, 1, 1), (1, 1, 1), (1000, 20, 30), (200_000, 2**31 - 1, 3),
                                                   (100_000, 50, 2**31 - 1)])  # fmt: skip
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rank_pairs_numbers_distinct_pairs_in_order(size, high, low, threads):
    random = np.random.default_rng(size)
    first = random.integers(0, high, size).astype(np.int32)
    second = random.integers(0, low, size).astype(np.int32)
    ids, positions, counts = kernels.rank_pairs(first, second, threads)
    key = first.astype(np.int64) << 32 | second
    _, expected_positions, expected_ids, expected_counts = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    assert ids.tolist() == expected_ids.tolist()
    assert positions.tolist() == expected_positions.tolist()
    assert counts.tolist() == expected_counts.tolist()
