"""Kernels end when the thread that called them is told to, and ask nobody else's watcher."""

import threading

import numpy as np
import pytest

import dragoman as dm
from dragoman.serve.batching import stopped_by


class Enough(Exception):  # noqa: N818
    pass


def _long_sampling():
    """Sampling for minutes, in one thread."""
    model = dm.example().with_threads(1)
    model.sample("Un petit chat dort devant la maison près de la rivière.", 100_000_000)


def test_a_kernel_is_stopped_from_another_thread():
    inside, asked, found = threading.Event(), threading.Event(), []

    def check():
        inside.set()
        if asked.is_set():
            raise Enough

    def work():
        try:
            with stopped_by(check):
                _long_sampling()
        except Enough:
            found.append("stopped")

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(60)
    assert thread.is_alive()
    asked.set()
    thread.join(60)
    assert found == ["stopped"]


def test_a_watcher_is_that_of_its_thread_and_of_its_time():
    model = dm.example().with_threads(1)

    def never():
        raise Enough

    calls = []
    with stopped_by(lambda: calls.append("outer")):
        with pytest.raises(Enough), stopped_by(never):
            _long_sampling()
        others = threading.Thread(target=lambda: model.sample("Un chat dort.", 20_000))
        others.start()
        others.join()
        assert not calls
    assert np.isfinite(model.sample("Un chat dort.", 100).scores).all()
