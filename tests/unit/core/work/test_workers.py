"""Workers of this process, and places where there are none."""

import sys

import pytest

from dragoman.core.errors import UsageError
from dragoman.core.runtime import ThreadWorkers, Workers


def test_threads_share_what_they_have_among_jobs():
    workers = ThreadWorkers(8)
    assert [workers.threads_of(jobs) for jobs in (1, 2, 3, 8, 20)] == [8, 4, 2, 1, 1]
    assert workers.parts_at_once == 1


def test_without_dask_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "dragoman.core.work.cluster", raising=False)
    with pytest.raises(UsageError, match=r"a cluster needs Dask; .* pip install 'dragoman\[cluster\]'"):
        Workers.of("local:2")
