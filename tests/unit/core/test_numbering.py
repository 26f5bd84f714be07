"""Numbers for what occurs, whichever way they are found."""

import numpy as np
import pytest

from dragoman.core.ragged import unique_ids


@pytest.mark.parametrize("total", [10, 700, 100_000])
@pytest.mark.parametrize("count", [0, 1, 8, 500])
def test_it_is_unique_with_the_inverse(total, count):
    ids = np.random.default_rng(count).integers(0, total, count).astype(np.int32)
    used, places = unique_ids(ids, total)
    wanted, inverse = np.unique(ids, return_inverse=True)
    assert used.tolist() == wanted.tolist()
    assert places.tolist() == inverse.tolist()
    assert (used.dtype, places.dtype) == (np.int64, np.int32)
