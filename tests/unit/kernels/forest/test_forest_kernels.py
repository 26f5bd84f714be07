"""Whatever passes Hypergraph.check is safe: all kernels on hypergraphs of every kind, also with absurd scores.

The values are compared with the slow twins in tests/unit/forest; here the kernels run under the sanitizers, too.
"""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.ragged import Ragged
from dragoman.forest.batch import Batch
from dragoman.forest.derivation import (
    best_derivation,
    derivation_features,
    sample,
    segmentations,
    translation_log_probability,
    yields,
)
from dragoman.forest.inside_outside import inside, max_inside, max_outside, outside
from dragoman.forest.kbest import kbest
from dragoman.forest.log_linear import LogLinear
from dragoman.forest.ngrams import expected_counts, posteriors
from dragoman.forest.operations import intersection, merge
from oracles.forest import RandomHypergraphs, derivations

pytestmark = pytest.mark.slow

CASES = RandomHypergraphs(200, seed=11, derivable=False)


def run_everything(graph):
    outside(graph, inside(graph))
    max_outside(graph, max_inside(graph))
    for distinct in (False, True):
        found = kbest(graph, 50, distinct=distinct)
        strings = yields(graph, found.derivations)
        segmentations(graph, found.derivations)
        derivation_features(graph, found.derivations)
    best_derivation(graph)
    sample(graph, 20, 1)
    for order in (1, 4):
        expected_counts(graph, order)
        posteriors(graph, order)
    for string in strings:
        translation_log_probability(graph, string)
        intersection(graph, string)
    merge([graph, graph])
    distributions = LogLinear.of(Batch.of([graph, graph])).at(np.ones(len(graph.features.names)))
    distributions.expected_gains(np.concatenate([graph.scores, graph.scores]), 1.0)
    distributions.expected_sums(np.ones((2 * graph.edges, 2)))
    distributions.expected_features(np.ones(2))


@pytest.mark.parametrize("empty", [True, False])
def test_every_hypergraph_is_safe_with_and_without_derivations(empty):
    cases = [graph for graph, listed in CASES if bool(listed) != empty]
    assert cases
    for graph in cases:
        if empty:
            with pytest.raises(DataError, match="no derivation"):
                run_everything(graph)
        else:
            run_everything(graph)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("size", [1e-300, 700.0, 1e300, 1.7e308])
def test_scores_of_any_size_are_safe(size):
    rng = np.random.default_rng(12)
    for graph, _ in CASES:
        signs = rng.integers(-1, 2, graph.edges)
        wild = replace(graph, scores=size * signs)
        wild.check()
        for step in (run_everything, lambda g: kbest(g, 50), lambda g: posteriors(g), lambda g: expected_counts(g)):
            with contextlib.suppress(DataError):
                step(wild)


def test_rows_of_any_edges_are_read_safely():
    rng = np.random.default_rng(13)
    for graph, listed in CASES:
        good = {d.edges for d in listed} | {d.edges for node in range(graph.nodes) for d in derivations(graph, node)}
        for _ in range(20):
            row = tuple(rng.integers(-1, graph.edges + 1, int(rng.integers(0, 5))).tolist())
            rows = Ragged.of([row], np.int32)
            if row in good:
                assert len(yields(graph, rows)) == 1
            else:
                with pytest.raises(ValueError, match="no derivation"):
                    yields(graph, rows)
