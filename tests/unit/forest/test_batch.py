"""Hypergraphs joined: what does not fit into one."""

import pytest

from dragoman.core.errors import UsageError
from dragoman.forest import batch
from dragoman.forest.batch import Batch
from oracles.forest import chain


@pytest.mark.parametrize(("most", "what"), [(11, "12 nodes"), (23, "24 edges")])
def test_numbers_that_would_not_fit(monkeypatch, most, what):
    graphs = [chain(4, edges=2)] * 3
    monkeypatch.setattr(batch, "_MOST", most)
    with pytest.raises(UsageError, match=f"3 hypergraphs have {what} together; at most {most} fit"):
        Batch.of(graphs)
    monkeypatch.setattr(batch, "_MOST", 24)
    assert len(Batch.of(graphs)) == 3
