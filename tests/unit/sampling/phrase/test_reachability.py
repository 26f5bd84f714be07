"""Disconnected segmentation graphs, against a walk over all segmentations."""

import numpy as np
import pytest

from dragoman import kernels
from oracles.segmentations import components


def counted(length, spans, most=1000):
    begin, end = (np.array([span[side] for span in sorted(spans)], np.int32) for side in (0, 1))
    offsets = np.array([0, len(spans)])
    return int(kernels.segmentation_components(np.array([length], np.int32), offsets, begin, end, most)[0])


def test_the_examples_of_the_thesis():
    words = {(0, 1), (1, 2), (2, 3)}
    assert counted(3, words | {(0, 2), (1, 3), (0, 3)}) == 1  # figure 5.6
    assert counted(3, words | {(0, 2), (0, 3)}) == 1  # figure 5.8
    assert counted(3, words | {(0, 3)}) == 2  # figure 5.9


@pytest.mark.parametrize("seed", range(300))
def test_random_spans(seed):
    rng = np.random.default_rng(seed)
    length = int(rng.integers(0, 8))
    share = rng.uniform(0.1, 0.9)
    spans = {(b, e) for b in range(length) for e in range(b + 1, length + 1) if rng.random() < share}
    if seed % 2:
        spans |= {(b, b + 1) for b in range(length)}
    assert counted(length, spans) == components(length, spans)


def test_counting_stops():
    spans = {(b, e) for b in range(0, 60, 3) for e in (b + 1, b + 3)} | {(b, b + 1) for b in range(60)}
    assert counted(60, spans, 1000) == 1000
