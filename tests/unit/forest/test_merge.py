"""Parts of one search space become one hypergraph that has each derivation once."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.forest.operations import merge
from dragoman.forest.prune import prune_by_margin
from oracles.forest import FEATURES, VOCAB, RandomHypergraphs, derivations


def space(seed, *, lattice):
    """A random space of derivations in which an edge's text, span and tails say what its head is."""
    rng = np.random.default_rng(seed)
    for graph, listed in RandomHypergraphs(12, seed):
        if 5 < len(listed) < 200 and bool((graph.tails[:, 1] < 0).all()) == lattice:
            trimmed = prune_by_margin(graph, 1e9)
            spans = np.stack([np.arange(trimmed.edges), trimmed.heads], axis=1).astype(np.int32)
            matrix = rng.normal(size=(trimmed.edges, len(FEATURES))).round(2)
            return replace(trimmed, spans=spans, features=FeatureRows.from_dense(FEATURES, matrix))
    return space(seed + 1000, lattice=lattice)


def described(graph):
    """What tells derivations of a space apart, whatever the numbers of its nodes and edges are."""
    rows = graph.features.dense()
    found = []
    for derivation in derivations(graph):
        edges = list(derivation.edges)
        spans = tuple(map(tuple, graph.spans[edges].tolist()))
        found.append((spans, derivation.words, tuple(rows[edges].sum(axis=0).round(6))))
    return sorted(found)


def parts(graph, seed, count):
    """What searches with different weights keep of a space."""
    rng = np.random.default_rng(seed)
    return [
        prune_by_margin(replace(graph, scores=rng.normal(0, 3, graph.edges)), float(rng.uniform(0.1, 6)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("lattice", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_each_derivation_is_there_once(seed, lattice):
    whole = space(seed, lattice=lattice)
    everything = described(whole)
    pieces = parts(whole, seed, 3)
    merged = merge(pieces)
    merged.check()
    found = described(merged)
    assert len(set(found)) == len(found)
    assert {row for piece in pieces for row in described(piece)} <= set(found) <= set(everything)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_known_already_adds_nothing(seed):
    whole = space(seed, lattice=seed % 2 == 0)
    (part,) = parts(whole, seed, 1)
    for pair in ([whole, part], [part, whole], [whole, whole]):
        again = merge(pair)
        assert (again.nodes, again.edges) == (whole.nodes, whole.edges)
        assert described(again) == described(whole)


def test_the_order_of_merging_does_not_change_what_is_there():
    whole = space(3, lattice=False)
    a, b, c = parts(whole, 7, 3)
    assert described(merge([merge([a, b]), c])) == described(merge([a, merge([c, b])]))


def test_graphs_that_share_nothing_are_put_side_by_side():
    pair = [graph for graph, _ in RandomHypergraphs(2, seed=31)]
    merged = merge(pair)
    merged.check()
    assert len(derivations(merged)) == sum(len(derivations(graph)) for graph in pair)


def test_one_graph_and_graphs_without_features():
    graph = space(1, lattice=True)
    assert merge([graph]) is graph
    bare = replace(graph, features=None)
    assert merge([bare, bare]).edges == graph.edges
    assert merge([bare, bare]).features is None


def test_graphs_that_contradict_each_other_are_refused():
    long = Hypergraph(
        vocab=VOCAB,
        root=1,
        first_edge=np.array([0, 1, 2]),
        tails=np.array([[-1, -1], [0, -1]], np.int32),
        template_ids=np.arange(2, dtype=np.int32),
        templates=Ragged.of([[3], [-1, 4]], np.int32),
        spans=np.zeros((2, 2), np.int32),
        scores=np.zeros(2),
    )
    short = Hypergraph(
        vocab=VOCAB,
        root=0,
        first_edge=np.array([0, 1]),
        tails=np.array([[-1, -1]], np.int32),
        template_ids=np.zeros(1, np.int32),
        templates=Ragged.of([[3]], np.int32),
        spans=np.zeros((1, 2), np.int32),
        scores=np.zeros(1),
    )
    # The root of one is before the root of the other.
    with pytest.raises(DataError, match="not of one search space"):
        merge([long, short])


@pytest.mark.parametrize(("raised", "seen"), [(kernels.CycleError("x"), DataError), (ValueError("a bug"), ValueError)])
def test_only_what_the_kernel_means_is_called_another_space(monkeypatch, raised, seen):
    def fails(*arguments):
        raise raised

    graph = next(iter(RandomHypergraphs(1, seed=1)))[0]
    monkeypatch.setattr(kernels, "forest_merge", fails)
    with pytest.raises(seen) as caught:
        merge([graph, graph])
    assert ("not of one search space" in str(caught.value)) == (seen is DataError)
