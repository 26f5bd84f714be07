from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.forest.derivation import sample
from oracles.forest import RandomHypergraphs, doubling, probabilities

CASES = RandomHypergraphs(200, seed=6)


def test_draws_follow_the_distribution_of_derivations():
    # Chi-square over all cases together: cells with fewer than 10 expected draws are put together.
    statistic, freedom, draws = 0.0, 0, 2000
    for seed, (graph, listed) in enumerate(CASES):
        counts = Counter(tuple(row.tolist()) for row in sample(graph, draws, seed))
        assert counts.keys() <= {d.edges for d in listed}
        cells = [(draws * p, counts[d.edges]) for d, p in zip(listed, probabilities(listed), strict=True)]
        large = [cell for cell in cells if cell[0] >= 10]
        rest = tuple(np.sum([cell for cell in cells if cell[0] < 10] or [(0.0, 0)], axis=0))
        cells = [*large, rest] if rest[0] >= 10 else large
        statistic += sum((found - wanted) ** 2 / wanted for wanted, found in cells)
        freedom += len(cells) - (1 if rest[0] >= 10 or rest[0] == 0 else 0)
    assert freedom > 1000
    # A chi-square variable is about normal here; 4 standard deviations.
    assert abs(statistic - freedom) < 4 * np.sqrt(2 * freedom)


def test_draws_depend_on_seed_and_number_only():
    graph, _ = max(CASES, key=lambda case: len(case[1]))
    many, few = sample(graph, 5000, 7, runtime=Runtime(threads=2)), sample(graph, 100, 7)
    assert many.values[: len(few.values)].tolist() == few.values.tolist()
    assert sample(graph, 5000, 7).values.tobytes() == many.values.tobytes()
    assert sample(graph, 100, 8).values.tolist() != few.values.tolist()
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    assert sample(graph, 50, ours).values.tolist() == sample(graph, 50, theirs).values.tolist()
    assert sample(graph, 50, ours).values.tolist() != sample(graph, 50, np.random.default_rng(1)).values.tolist()
    assert len(sample(graph, 0, 7)) == 0


def test_the_stream_of_numbers_is_the_documented_one():
    # One node with 8 equal edges: the edge is the top 3 bits of the first number of the draw's stream.
    graph = replace(
        doubling(1),
        first_edge=np.array([0, 8]),
        tails=np.full((8, 2), -1, np.int32),
        template_ids=np.zeros(8, np.int32),
        spans=np.zeros((8, 2), np.int32),
        scores=np.zeros(8),
    )

    def mix(x):
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    step = 0x9E3779B97F4A7C15
    starts = [mix((mix((42 + step) % 2**64) + (i + 1) * step) % 2**64) for i in range(20)]
    assert sample(graph, 20, 42).values.tolist() == [mix((start + step) % 2**64) >> 61 for start in starts]


def test_bad_arguments():
    graph, _ = CASES[0]
    with pytest.raises(UsageError, match="seed"):
        sample(graph, 1, -1)
    with pytest.raises(UsageError, match="0 or more"):
        sample(graph, -1, 1)
    empty = replace(graph, first_edge=np.where(np.arange(graph.nodes + 1) > graph.root + 1, graph.edges, 0))
    with pytest.raises(DataError, match="no derivation"):
        sample(empty, 1, 1)
    with pytest.raises(ValueError, match="4 million"):
        sample(doubling(60), 1, 1)
