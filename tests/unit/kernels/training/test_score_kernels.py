import itertools

import numpy as np

from dragoman import kernels


def test_numbering_spans_at_scale() -> None:
    # Enough spans for several blocks, enough distinct ones for tables to grow.
    rng = np.random.default_rng(1)
    rows, length = 5000, 30
    words = rng.integers(40, size=rows * length).astype(np.int32)
    offsets = np.arange(rows + 1) * length
    n = 150_000
    sentence = rng.integers(rows, size=n).astype(np.int32)
    begin = rng.integers(length - 4, size=n).astype(np.uint16)
    size = rng.integers(1, 5, size=n).astype(np.uint8)
    starts = (offsets[sentence] + begin).tolist()
    text = words.tolist()
    phrases = [tuple(text[a : a + k]) for a, k in zip(starts, size.tolist(), strict=True)]
    expected: dict[tuple[int, ...], int] = {}
    ids = [expected.setdefault(phrase, len(expected)) for phrase in phrases]
    for threads in (1, 2):
        found, values, bounds = kernels.number_spans(words, offsets, sentence, begin, size, threads, None)
        assert found.tolist() == ids
        assert [tuple(values[a:b].tolist()) for a, b in itertools.pairwise(bounds)] == list(expected)


def test_grouping_sorts_by_source_target_and_instance() -> None:
    rng = np.random.default_rng(2)
    source, target = (rng.integers(9000, size=50_000).astype(np.int32) // 3 for _ in range(2))
    order, offsets = kernels.group_pairs(source, target, 3000, 2, None)
    assert order.tolist() == np.lexsort((target, source)).tolist()
    keys = source[order].astype(np.int64) * 10_000 + target[order]
    assert offsets.tolist() == [*np.unique(keys, return_index=True)[1].tolist(), len(keys)]


def test_sources_without_instances() -> None:
    ids = np.array([2, 2], np.int32)
    order, offsets = kernels.group_pairs(ids, ids, 5, 1, None)
    assert (order.tolist(), offsets.tolist()) == ([0, 1], [0, 2])
