"""Limits that are none."""

import pytest

from dragoman.core.errors import UsageError
from dragoman.search.limits import SearchLimits


def test_hypotheses_are_numbered_in_32_bits():
    assert SearchLimits(max_size=2**31 - 1).max_size == 2**31 - 1
    with pytest.raises(UsageError, match="max_size is 2147483648; expected at most "):
        SearchLimits(max_size=2**31)


def test_pieces_have_words():
    with pytest.raises(UsageError, match="max_words is 0; expected at least 1"):
        SearchLimits(max_words=0)
