import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.forest.batch import Batch
from dragoman.forest.derivation import derivation_features, yields
from dragoman.forest.envelope import envelope, envelopes
from oracles.forest import RandomHypergraphs, chain

CASES = RandomHypergraphs(200, seed=11)


def lines(graph, rng):
    """Numbers of which sums are exact, with many equal ones."""
    return rng.integers(-8, 9, graph.edges) / 4, rng.integers(-3, 4, graph.edges) / 2


@pytest.mark.parametrize("seed", range(3))
def test_the_envelope_is_that_of_all_derivations(seed):
    rng = np.random.default_rng(seed)
    for graph, listed in CASES:
        intercepts, slopes = lines(graph, rng)
        found = envelope(graph, intercepts, slopes)
        sums = {d.edges: (intercepts[list(d.edges)].sum(), slopes[list(d.edges)].sum()) for d in listed}
        a, b = np.array(list(sums.values())).T
        assert (np.diff(found.slopes) > 0).all()
        assert (np.diff(found.breaks) > 0).all()
        assert (found.slopes[0], found.slopes[-1]) == (b.min(), b.max())
        for edges, intercept, slope in zip(found.derivations, found.intercepts, found.slopes, strict=True):
            assert sums[tuple(edges.tolist())] == (intercept, slope)
        if len(found) == 1:
            assert found.intercepts[0] == a[b == b.max()].max()
            continue
        ends = np.concatenate([found.breaks[:1] - 1, found.breaks, found.breaks[-1:] + 1])
        middles = (ends[1:] + ends[:-1]) / 2
        for t in np.concatenate([ends, middles]):
            assert (found.intercepts + t * found.slopes).max() == pytest.approx((a + t * b).max(), abs=1e-12)
        values = found.intercepts + np.outer(middles, found.slopes)
        assert values.argmax(axis=1).tolist() == list(range(len(found)))


def test_without_slopes_the_envelope_is_the_best_derivation():
    for graph, listed in CASES[:50]:
        found = envelope(graph, graph.scores, np.zeros(graph.edges))
        assert len(found) == 1
        assert found.intercepts[0] == pytest.approx(max(d.score for d in listed), abs=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_at_once_are_as_one_by_one(threads):
    graphs = [graph for graph, _ in CASES[:60]]
    batch = Batch.of(graphs)
    rng = np.random.default_rng(0)
    intercepts, slopes = lines(batch.joined, rng)
    found = envelopes(batch, intercepts, slopes, runtime=Runtime(threads=threads))
    texts, features = yields(batch.joined, found.derivations), derivation_features(batch.joined, found.derivations)
    first = 0
    for i, graph in enumerate(graphs):
        part = slice(first, first + graph.edges)
        alone = envelope(graph, intercepts[part], slopes[part])
        rows = np.arange(found.graphs[i], found.graphs[i + 1])
        assert found.slopes[rows].tolist() == alone.slopes.tolist()
        assert found.intercepts[rows].tolist() == alone.intercepts.tolist()
        words, expected = texts.take(rows), yields(graph, alone.derivations)
        assert batch.joined.vocab.decode(words.values, words.offsets) == graph.vocab.decode(
            expected.values, expected.offsets
        )
        assert features.take(rows).dense().tolist() == derivation_features(graph, alone.derivations).dense().tolist()
        first += graph.edges


def test_a_lattice_of_many_derivations_has_few_segments():
    graph = chain(200, edges=3)
    rng = np.random.default_rng(2)
    found = envelope(graph, rng.normal(size=graph.edges), rng.normal(size=graph.edges))
    assert 200 < len(found) <= graph.edges
    assert (np.diff(found.breaks) > 0).all()


def test_what_cannot_be_done_is_said():
    graph = chain(3)
    with pytest.raises(UsageError, match="there are 2 intercepts and 6 slopes for 6 edges"):
        envelope(graph, np.zeros(2), np.zeros(6))
    with pytest.raises(DataError, match="too large"):
        envelope(graph, np.full(6, 1e308), np.zeros(6))
    with pytest.raises(UsageError, match="no hypergraphs"):
        Batch.of([])
    barren = next(graph for graph, listed in RandomHypergraphs(200, seed=1, derivable=False) if not listed)
    with pytest.raises(DataError, match="no derivation"):
        envelope(barren, np.zeros(barren.edges), np.zeros(barren.edges))
