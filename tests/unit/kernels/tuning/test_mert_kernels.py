import itertools

import numpy as np
import pytest

from dragoman import kernels
from dragoman.forest.batch import structure
from oracles.forest import RandomHypergraphs


def random_lines(rng, sentences, most):
    """Intercepts and slopes of some candidates for each sentence, with equal, parallel and crossing lines."""
    bounds = np.concatenate([[0], np.cumsum(rng.integers(1, most + 1, sentences))]).astype(np.int64)
    size = int(bounds[-1])
    kinds = [rng.integers(-2, 3, (2, size)) / 2, rng.normal(size=(2, size)), np.zeros((2, size))]
    intercepts, slopes = kinds[int(rng.choice(3, p=[0.5, 0.4, 0.1]))]
    return bounds, np.ascontiguousarray(intercepts), np.ascontiguousarray(slopes)


def first_best(scores, bounds):
    return np.array([a + np.argmax(scores[a:b]) for a, b in itertools.pairwise(bounds)], np.int32)


@pytest.mark.parametrize("seed", range(100))
def test_the_sums_between_breaks_are_those_of_the_best_candidates(seed):
    rng = np.random.default_rng(seed)
    bounds, intercepts, slopes = random_lines(rng, int(rng.integers(1, 60)), int(rng.integers(1, 30)))
    statistics = rng.integers(0, 3, (len(slopes), 2)).astype(np.float64)
    same = kernels.mert_same_statistics(statistics, bounds)
    best = first_best(intercepts, bounds)
    orders = [
        (kernels.mert_order(slopes, bounds), bounds),
        kernels.mert_contenders(intercepts, best, slopes, bounds),
    ]
    (breaks, sums), (other_breaks, other_sums) = (
        kernels.mert_line(intercepts, best, slopes, *order, same, statistics) for order in orders
    )
    assert breaks.tolist() == other_breaks.tolist()
    assert sums.tolist() == other_sums.tolist()
    ends = np.concatenate([breaks[:1] - 1, breaks, breaks[-1:] + 1]) if len(breaks) else np.array([-1.0, 1.0])
    for i in np.flatnonzero(np.diff(ends) > 1e-9):
        rows = first_best(intercepts + (ends[i] + ends[i + 1]) / 2 * slopes, bounds)
        assert sums[i].tolist() == statistics[rows].sum(axis=0).tolist()


def test_same_statistics_are_found_within_a_sentence_only():
    statistics = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [1.0, 2.0]])
    assert kernels.mert_same_statistics(statistics, np.array([0, 3, 4])).tolist() == [0, 1, 0, 3]


def test_orders_are_by_falling_slope_and_then_by_row():
    slopes, bounds = np.array([1.0, 3.0, 1.0, 3.0, -1.0, 5.0]), np.array([0, 5, 6])
    assert kernels.mert_order(slopes, bounds).tolist() == [1, 3, 0, 2, 4, 5]


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_sums_in_the_order_of_features(seed):
    rng = np.random.default_rng(seed)
    columns, weights = rng.normal(size=(5, 3000)), rng.normal(size=5) * np.array([1, 0, 1, 1, 1])
    bounds = np.array([0, 1, 1200, 3000])
    scores, best = kernels.mert_scores(columns, weights, bounds)
    expected = np.zeros(3000)
    for weight, column in zip(weights, columns, strict=True):
        expected += weight * column
    assert scores.tolist() == expected.tolist()
    assert best.tolist() == first_best(expected, bounds).tolist()
    moved, best = kernels.mert_moved(scores, columns[0], 0.25, bounds)
    assert moved.tolist() == (scores + 0.25 * columns[0]).tolist()
    assert best.tolist() == first_best(moved, bounds).tolist()


def test_numbers_at_the_ends_of_their_range_do_no_harm():
    tiny, huge = 5e-324, 1e308
    intercepts = np.array([huge, -huge, 0.0, tiny, huge, 1.0])
    slopes = np.array([-tiny, tiny, 0.0, tiny, -huge, huge])
    bounds, statistics = np.array([0, 6]), np.arange(6.0)[:, None]
    best = first_best(intercepts, bounds)
    same = kernels.mert_same_statistics(statistics, bounds)
    for order in (
        (kernels.mert_order(slopes, bounds), bounds),
        kernels.mert_contenders(intercepts, best, slopes, bounds),
    ):
        breaks, sums = kernels.mert_line(intercepts, best, slopes, *order, same, statistics)
        assert len(sums) == len(breaks) + 1
        assert np.isfinite(breaks).all()
        assert (sums[0, 0], sums[-1, 0]) == (4.0, 5.0)


def test_envelopes_of_hypergraphs_hold_the_extreme_slopes():
    rng = np.random.default_rng(0)
    for graph, listed in RandomHypergraphs(100, seed=4, derivable=False):
        intercepts, slopes = rng.normal(size=graph.edges), rng.integers(-2, 3, graph.edges).astype(np.float64)
        graphs, _, found, edges, offsets = kernels.forest_envelopes(
            structure(graph, intercepts), slopes, np.array([0, graph.nodes]), np.array([graph.root])
        )
        assert graphs.tolist() == [0, len(found)]
        sums = [slopes[list(derivation.edges)].sum() for derivation in listed]
        assert [*found[:1], *found[-1:]] == ([min(sums), max(sums)] if sums else [])
        rows = {tuple(edges[a:b].tolist()) for a, b in itertools.pairwise(offsets)}
        assert rows <= {derivation.edges for derivation in listed}
