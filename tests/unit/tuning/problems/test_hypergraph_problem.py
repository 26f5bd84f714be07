"""Tuning on hypergraphs and on lists of all their derivations must be the same."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.forest.kbest import nbest
from dragoman.tuning.methods.mert import Mert
from dragoman.tuning.optimise.line_search import line_search
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Problem
from oracles.forest import FEATURES, RandomHypergraphs
from oracles.tuning_mert import ToyBleu

RANGES = np.tile([-1.0, 1.0], (len(FEATURES), 1))


def problems(seed: int, sentences: int = 8) -> tuple[HypergraphProblem, Problem]:
    """The same translations as hypergraphs and as complete lists, without strings of equal features."""
    rng = np.random.default_rng(seed)
    graphs = []
    for graph, _ in RandomHypergraphs(sentences, seed):
        # Real features, so that hardly any two derivations score the same: ties have no order that both could share.
        matrix = rng.integers(-(2**20), 2**20, (graph.edges, len(FEATURES))) / 2**18
        graphs.append(replace(graph, features=type(graph.features).from_dense(FEATURES, matrix)))
    scorer = ToyBleu([[int(w) for w in rng.integers(3, 6, 6)] for _ in graphs])
    lists = nbest(graphs, 10_000)
    numbers = np.repeat(np.arange(len(graphs)), np.diff(lists.sentences))
    statistics = scorer.statistics(Corpus(lists.vocab, lists.hypotheses), numbers)
    candidates = Problem(lists.sentences, lists.features, statistics, scorer, RANGES)
    return HypergraphProblem.of(graphs, scorer, RANGES), candidates


@pytest.mark.parametrize("seed", range(12))
def test_lines_are_the_same_as_on_complete_lists(seed):
    whole, candidates = problems(seed)
    assert whole.names == candidates.names == FEATURES
    rng = np.random.default_rng(seed)
    for direction in [*np.eye(3), rng.integers(-8, 9, 3) / 4]:
        weights = rng.integers(-8, 9, 3) / 8  # sums of products are then exact, and so are both kinds of breaks
        ours, theirs = line_search(whole, weights, direction), line_search(candidates, weights, direction)
        assert ours.breaks.tolist() == theirs.breaks.tolist()
        assert ours.scores.tolist() == theirs.scores.tolist()
        if weights.any():
            assert whole.objective(weights) == candidates.objective(weights)


@pytest.mark.parametrize("options", [{}, {"moves": "best", "random_directions": 0}, {"smoothing": "average"}])
def test_optima_are_the_same_as_on_complete_lists(options):
    whole, candidates = problems(100, sentences=12)
    tuner = Mert(restarts=2, **options)
    start = np.array([0.5, 0.25, -0.25])
    ours = tuner.optimise(whole, start, rng=np.random.default_rng(1), runtime=Runtime(threads=2))
    theirs = tuner.optimise(candidates, start, rng=np.random.default_rng(1))
    assert ours.objective == pytest.approx(theirs.objective, abs=1e-9)
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=0, atol=1e-9)
    if "smoothing" not in options:
        assert ours.objective == pytest.approx(candidates.objective(ours.weights), abs=1e-9)
        assert ours.objective > whole.objective(start)


def test_hypergraphs_that_cannot_be_tuned_are_refused():
    cases = RandomHypergraphs(60, seed=1, derivable=False)
    good = next(graph for graph, listed in cases if listed)
    barren = next(graph for graph, listed in cases if not listed and graph.edges)
    with pytest.raises(UsageError, match="without features"):
        HypergraphProblem.of([good, replace(good, features=None)], ToyBleu(), RANGES)
    with pytest.raises(DataError, match="sentence 1 has no derivation"):
        HypergraphProblem.of([good, barren], ToyBleu(), RANGES)
    matrix = np.full((good.edges, 3), np.nan)
    with pytest.raises(DataError, match="not a finite number"):
        HypergraphProblem.of(
            [replace(good, features=type(good.features).from_dense(FEATURES, matrix))], ToyBleu(), RANGES
        )
