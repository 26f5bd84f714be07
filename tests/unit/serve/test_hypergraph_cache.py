"""What is kept is what was used last, within a bound, and what is thrown away goes back to the system."""

from types import SimpleNamespace

import pytest

from dragoman.serve import hypergraph_cache
from dragoman.serve.hypergraph_cache import HypergraphCache


@pytest.fixture
def returned(monkeypatch):
    """How often memory was given back."""
    calls = []
    monkeypatch.setattr(hypergraph_cache, "_give_back", calls.append)
    return calls


def test_the_last_that_were_used_are_kept_within_the_bound(returned):
    graphs = HypergraphCache(100)

    def ask(key, size=30):
        return graphs.get_or_make(key, lambda: SimpleNamespace(size=size))[1]

    assert [ask(key) for key in "abc"] == [True] * 3
    assert not ask("a")  # used again
    assert ask("d")
    assert (ask("a"), ask("c"), ask("d"), graphs.bytes, len(graphs)) == (False, False, False, 90, 3)
    assert ask("b")  # which had to go
    assert ask("e", 101)  # larger than all that may be kept
    assert ask("e", 101)
    assert graphs.bytes == 90


def test_what_is_thrown_away_is_given_back_now_and_then(returned):
    graphs = HypergraphCache(1000)
    for key in range(250):
        graphs.get_or_make(key, lambda: SimpleNamespace(size=10))
    assert len(graphs) == 100
    assert len(returned) == 150 * 10 // 130  # when more than an eighth of the bound was thrown away
