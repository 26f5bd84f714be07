from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.forest.derivation import best_derivation
from dragoman.forest.prune import prune_by_margin, prune_to_density, trim
from oracles.forest import RandomHypergraphs, derivations

CASES = RandomHypergraphs(300, seed=7)


def described(graph, listed):
    """Derivations without the numbers of their edges."""
    dense = graph.features.dense()
    return sorted(
        (d.score, d.words, dense[list(d.edges)].tolist(), graph.spans[list(d.edges)].tolist()) for d in listed
    )


@pytest.mark.slow
def test_trimming_keeps_all_derivations_and_nothing_else():
    for graph, listed in CASES:
        small = trim(graph)
        small.check()
        again = derivations(small)
        assert described(small, again) == described(graph, listed)
        assert {e for d in again for e in d.edges} == set(range(small.edges))
        assert set(small.heads.tolist()) == set(range(small.nodes))
        assert sorted(set(small.template_ids.tolist())) == list(range(len(small.templates)))


def test_a_hypergraph_without_derivations_is_trimmed_to_its_root():
    graph, _ = CASES[0]
    empty = replace(graph, first_edge=np.where(np.arange(graph.nodes + 1) > graph.root + 1, graph.edges, 0))
    small = trim(empty)
    small.check()
    assert (small.nodes, small.edges, small.root) == (1, 0, 0)


@pytest.mark.parametrize("margin", [0.0, 0.5, 2.0])
def test_a_margin_keeps_every_derivation_within_it(margin):
    for graph, listed in CASES:
        best = max(d.score for d in listed)
        kept = [d for d in listed if d.score >= best - margin + 1e-9]
        small = prune_by_margin(graph, margin)
        small.check()
        again = described(small, derivations(small))
        assert all(row in again for row in described(graph, kept))
        edges = {e for d in listed if d.score >= best - margin - 1e-9 for e in d.edges}
        assert small.edges <= len(edges)


@pytest.mark.parametrize("density", [0.5, 1.0, 3.0, 1000.0])
def test_density_bounds_edges_for_each_word_and_keeps_the_best(density):
    for graph, listed in CASES:
        best = best_derivation(graph)
        small = prune_to_density(graph, density)
        small.check()
        assert best_derivation(small).score == pytest.approx(best.score, abs=1e-12)
        words = next(len(d.words) for d in listed if d.edges == tuple(best.edges.tolist()))
        assert small.edges <= max(density * max(words, 1), len(set(best.edges.tolist())))
        assert prune_to_density(graph, 1e6 * density).edges == trim(graph).edges


def test_bad_arguments():
    graph, _ = CASES[0]
    for call in (
        lambda: prune_to_density(graph, 0.0),
        lambda: prune_by_margin(graph, -1.0),
    ):
        with pytest.raises(UsageError, match="expected"):
            call()
