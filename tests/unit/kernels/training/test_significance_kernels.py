import itertools

import numpy as np
import pytest

from dragoman import kernels
from oracles.fisher import negative_log_p


def fisher(counts: list[tuple[int, int, int]], sentences: int, threads: int = 1) -> list[float]:
    columns = (np.ascontiguousarray(column) for column in np.array(counts, np.int64).reshape(-1, 3).T)
    return kernels.fisher_exact(*columns, sentences, threads, None).tolist()


def test_every_possible_count_in_small_corpora() -> None:
    for sentences in (1, 2, 7, 20):
        counts = [
            (joint, source, target)
            for source in range(sentences + 1)
            for target in range(sentences + 1)
            for joint in range(max(0, source + target - sentences), min(source, target) + 1)
        ]
        expected = [negative_log_p(*row, sentences) for row in counts]
        assert fisher(counts, sentences) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("sentences", [29_000, 50_000])
def test_tails_keep_their_digits(sentences: int) -> None:
    rng = np.random.default_rng(sentences)
    counts = [(1, 1, 1), (1, 1, 2), (2, 2, 2), (300, 300, 300), (250, 300, 400), (20, sentences // 2, 20)]
    for _ in range(60):
        source, target = (int(n) for n in np.exp(rng.uniform(0, np.log(3000), 2)))
        counts.append((int(rng.integers(0, min(source, target) + 1)), source, target))
    expected = [negative_log_p(*row, sentences) for row in counts]
    assert fisher(counts, sentences) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_pairs_seen_once_are_exact_in_large_corpora() -> None:
    sentences = 10**9
    assert fisher([(1, 1, 1)], sentences) == pytest.approx([np.log(sentences)], rel=1e-14)


def test_occurrences_and_common_sentences() -> None:
    rng = np.random.default_rng(2)
    lines = [rng.integers(3, size=rng.integers(6)).tolist() for _ in range(3000)]
    phrases = [[0], [1, 1], [0, 1, 2], [2, 2, 2, 2], [7], [-1, 0], []]

    def flat(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
        return np.array([w for row in rows for w in row], np.int32), np.cumsum([0, *map(len, rows)])

    expected = [
        [i for i, line in enumerate(lines) if p and any(line[k : k + len(p)] == p for k in range(len(line)))]
        for p in phrases
    ]
    for threads in (1, 2):
        sentences, offsets = kernels.phrase_occurrences(*flat(phrases), *flat(lines), threads, None)
        assert [sentences[a:b].tolist() for a, b in itertools.pairwise(offsets)] == expected
    first, second = (np.array(ids.ravel(), np.int32) for ids in np.indices((len(phrases), len(phrases))))
    common = kernels.count_common(sentences, offsets, sentences, offsets, first, second, 1, None)
    assert common.tolist() == [len(set(a) & set(b)) for a in expected for b in expected]
