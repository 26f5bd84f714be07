"""Conditional likelihood against lists of all derivations, and gradients against finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.forest.operations import intersection
from dragoman.forest.prune import take_edges
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.ter import Ter
from dragoman.tuning.methods.likelihood import Likelihood, LogLikelihood, reached_targets, surrogates
from dragoman.tuning.problems.evidence import DecodedGraphs
from dragoman.tuning.problems.hypergraph_problem import ReferenceProblem, Targets
from oracles.forest import FEATURES, RandomHypergraphs

CASES = [(graph, listed) for graph, listed in RandomHypergraphs(40, seed=9) if len({d.words for d in listed}) > 3][:9]
GRAPHS = [graph for graph, _ in CASES]
RANGES = np.tile([-1.0, 1.0], (len(FEATURES), 1))
WEIGHTS = np.array([0.3, -0.7, 0.45])
REFERENCE = "a b c a"


def text(graph, words):
    return graph.vocab.text(np.array(words, np.int32))


def problem(targets=(), metric=None, sign=1):
    """Targets are pairs of a sentence and a string."""
    strings = Corpus.from_lines([string for _, string in targets])
    wanted = Targets(np.array([i for i, _ in targets], np.int64), strings)
    scorer = (metric or Bleu()).scorer([Corpus.from_lines([REFERENCE] * len(CASES))])
    return replace(ReferenceProblem.of(GRAPHS, scorer, RANGES, sign), targets=wanted)


def log_probability(case, strings, weights):
    graph, listed = case
    rows = graph.features.dense()
    masses = np.array([np.exp(rows[list(d.edges)].sum(axis=0) @ weights) for d in listed])
    wanted = np.array([text(graph, d.words) in strings for d in listed])
    return np.log(masses[wanted].sum() / masses.sum())


def some_targets():
    """Two strings of each sentence, the first one twice."""
    found = []
    for i, (graph, listed) in enumerate(CASES):
        first, second = sorted({text(graph, d.words) for d in listed})[:2]
        found += [(i, first), (i, second), (i, first)]
    return found


@pytest.mark.parametrize("deviation", [0.0, 0.5])
def test_the_objective_is_the_probability_of_all_references(deviation):
    targets = some_targets()
    case = problem(targets)
    graphs = case.batch.graphs()
    value, _ = LogLikelihood(reached_targets(case, graphs), graphs, deviation)(WEIGHTS)
    expected = sum(
        log_probability(row, {string for j, string in targets if j == i}, WEIGHTS) for i, row in enumerate(CASES)
    )
    prior = (WEIGHTS @ WEIGHTS) / (2 * deviation**2) if deviation else 0.0
    assert value == pytest.approx((expected - prior) / len(CASES), rel=1e-10)


@pytest.mark.parametrize("deviation", [0.0, 0.5])
def test_gradients_are_those_of_finite_differences(deviation):
    case = problem(some_targets())
    graphs = case.batch.graphs()
    objective = LogLikelihood(reached_targets(case, graphs), graphs, deviation)
    _, gradient = objective(WEIGHTS)
    for i, way in enumerate(np.eye(3) * 1e-5):
        difference = (objective(WEIGHTS + way)[0] - objective(WEIGHTS - way)[0]) / 2e-5
        assert gradient[i] == pytest.approx(difference, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("metric", "sign"), [(Bleu(), 1), (Ter(), -1)])
def test_surrogates_are_the_best_by_the_metric(metric, sign):
    case = problem(metric=metric, sign=sign)
    graphs = case.batch.graphs()
    for candidates in (3, 10_000):
        found = surrogates(case, graphs, [1, 4], WEIGHTS, candidates)
        for i in (1, 4):
            graph, listed = CASES[i]
            rows = graph.features.dense()
            order = sorted(listed, key=lambda d, rows=rows: -(rows[list(d.edges)].sum(axis=0) @ WEIGHTS))
            strings = list(dict.fromkeys(text(graph, d.words) for d in order))[:candidates]
            statistics = case.scorer.statistics(Corpus.from_lines(strings), np.full(len(strings), i))
            best = strings[int(np.argmax(sign * case.scorer.sentence_scores(statistics)))]
            wanted = intersection(graphs[i], case.batch.joined.vocab.encode(best.encode())[0])
            assert found[i].edges == wanted.edges


class Listening(Progress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_references_get_probable_and_surrogates_are_counted():
    targets = [target for target in some_targets() if target[0] % 2]
    case, listening = problem(targets), Listening()
    found = Likelihood().optimise(case, WEIGHTS, rng=np.random.default_rng(0), runtime=Runtime(progress=listening))
    assert found.details == {"reached": 4, "surrogates": 5}
    assert listening.notes == ["4 sentences have a reference that can be derived, 5 a surrogate"]
    graphs = case.batch.graphs()
    wanted = [target or graphs[i] for i, target in enumerate(reached_targets(case, graphs))]
    objective = LogLikelihood(wanted, graphs, 1.0)
    assert objective(found.weights)[0] > objective(WEIGHTS)[0]


def test_threads_do_not_matter():
    case = problem(some_targets()[:6])
    found = [
        Likelihood().optimise(case, WEIGHTS, rng=np.random.default_rng(i), runtime=Runtime(threads=i)) for i in (1, 2)
    ]
    assert found[0].weights.tolist() == found[1].weights.tolist()


def test_derived_references_survive_a_night_on_disk(tmp_path):
    parts = [intersection(graph, listed[0].words) for graph, listed in CASES]
    nothing = take_edges(GRAPHS[0], np.zeros(GRAPHS[0].edges, bool))
    before = DecodedGraphs(GRAPHS, [parts, [parts[0], *[nothing] * (len(parts) - 1)]])
    before.save(tmp_path / "graphs")
    after = DecodedGraphs.load(tmp_path / "graphs")
    scorer = problem().scorer
    ranges = dict.fromkeys(FEATURES, (-1.0, 1.0))
    for decoded in (before, after, after.merged_with(before)):
        case = decoded.problem(FEATURES, ranges, scorer)
        assert case.targets.sentences.tolist() == [*range(len(parts)), 0]
        assert case.targets.strings.lines()[:9] == [text(graph, listed[0].words) for graph, listed in CASES]
        found = Likelihood().optimise(case, WEIGHTS, rng=np.random.default_rng(0))
        assert found.details == {"reached": 9, "surrogates": 0}
    assert before.first().lines() == after.first().lines()
