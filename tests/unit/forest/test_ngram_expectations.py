from dataclasses import replace

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.forest.ngrams import expected_counts, posteriors, split_by_context
from oracles.forest import RandomHypergraphs, derivations, ngram_counts, probabilities

pytestmark = pytest.mark.slow

CASES = RandomHypergraphs(300, seed=4)


def by_ngram(expectations):
    return dict(zip((tuple(row.tolist()) for row in expectations.ngrams), expectations.values.tolist(), strict=True))


def expected(listed, order, value):
    totals: dict[tuple[int, ...], float] = {}
    for d, p in zip(listed, probabilities(listed), strict=True):
        for ngram, count in ngram_counts(d.words, order).items():
            totals[ngram] = totals.get(ngram, 0.0) + p * value(count)
    return totals


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_expected_counts_are_those_of_all_derivations(order):
    for graph, listed in CASES:
        found = expected_counts(graph, order)
        assert by_ngram(found) == pytest.approx(expected(listed, order, float), abs=1e-11)
        assert len(by_ngram(found)) == len(found)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_posteriors_are_the_share_of_derivations_with_the_ngram(order):
    for graph, listed in CASES:
        assert by_ngram(posteriors(graph, order)) == pytest.approx(expected(listed, order, bool), abs=1e-11)


def test_posteriors_do_not_depend_on_threads():
    for graph, _ in CASES[:20]:
        assert posteriors(graph, runtime=Runtime(threads=2)).values.tobytes() == posteriors(graph).values.tobytes()


def test_a_split_hypergraph_has_the_same_derivations_and_its_edges_complete_the_ngrams():
    for graph, listed in CASES[:150]:
        split = split_by_context(graph, 3)
        split.graph.check()
        assert split.graph.features.dense().tolist() == graph.features.dense()[split.edges].tolist()
        assert graph.heads[split.edges].tolist() == split.nodes[split.graph.heads].tolist()
        again = derivations(split.graph)
        old = {tuple(split.edges[list(d.edges)].tolist()): d for d in again}
        assert old.keys() == {d.edges for d in listed}
        assert len(again) == len(listed)
        for d in again:
            found = [tuple(split.ngrams[i].tolist()) for e in d.edges for i in split.occurrences[e]]
            assert sorted(found) == sorted(ngram_counts(d.words, 3).elements())


def test_lattices_are_split_by_last_words_only():
    for graph, listed in CASES[1::2]:
        split = split_by_context(graph, 3)
        ends = set()
        for d in listed:
            for i, edge in enumerate(d.edges[1:], 1):
                places = [place for row in d.places[i:] for place in row]
                words = tuple(d.words[place] for place in sorted(places))
                ends.add((int(graph.heads[edge]), words[-2:]))
        at_root = {node for node in split.nodes.tolist() if node == graph.root}
        # The root's own state is one; every other node has at most one state for each pair of last words.
        assert len(split.nodes) <= len(ends) + len(at_root)


def test_bad_arguments():
    graph, _ = CASES[0]
    with pytest.raises(UsageError, match="order"):
        expected_counts(graph, 0)
    with pytest.raises(DataError, match="more than 0 edges"):
        split_by_context(graph, 4, max_edges=0)
    empty = replace(graph, first_edge=np.where(np.arange(graph.nodes + 1) > graph.root + 1, graph.edges, 0))
    with pytest.raises(DataError, match="no derivation"):
        posteriors(empty)


@pytest.mark.parametrize(("raised", "seen"), [(kernels.LimitError("x"), DataError), (ValueError("a bug"), ValueError)])
def test_only_what_the_kernel_means_is_called_too_large(monkeypatch, raised, seen):
    def fails(*arguments):
        raise raised

    monkeypatch.setattr(kernels, "forest_split", fails)
    with pytest.raises(seen) as caught:
        expected_counts(CASES[0][0], 2)
    assert isinstance(caught.value, DataError) == (seen is DataError)
