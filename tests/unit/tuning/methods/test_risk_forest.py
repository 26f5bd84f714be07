"""Risk on hypergraphs against lists of all derivations, and gradients against finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.runtime import Runtime
from dragoman.metrics.bleu import Bleu, smooth_bleu
from dragoman.metrics.ter import Ter
from dragoman.tuning.methods.risk_forest import RiskForest
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from oracles.forest import FEATURES, RandomHypergraphs, ngram_counts

CASES = [(graph, listed) for graph, listed in RandomHypergraphs(40, seed=8) if len(listed) > 3][:10]
REFERENCES = [["a b c a b", "c c b a", "b"][i % 3] for i in range(len(CASES))]
OTHERS = ["c a b a"] * len(CASES)
START = np.array([0.4, -0.2, 0.1])
WEIGHTS = np.array([0.3, -0.7, 0.45])


def problem(*references, metric=None):
    graphs = [graph for graph, _ in CASES]
    scorer = (metric or Bleu(order=3)).scorer([Corpus.from_lines(lines) for lines in references or [REFERENCES]])
    return HypergraphProblem.of(graphs, scorer, np.tile([-1.0, 1.0], (len(FEATURES), 1)))


def expected(references, weights, gamma, order=3):
    """Expected length, matches and n-grams of each order, and the mean entropy, by listing."""
    length, matches, totals, entropy = 0.0, np.zeros(order), np.zeros(order), []
    for i, (graph, listed) in enumerate(CASES):
        rows = graph.features.dense()
        scores = np.array([rows[list(d.edges)].sum(axis=0) @ weights * gamma for d in listed])
        p = np.exp(scores - scores.max())
        p /= p.sum()
        entropy.append(-(p * np.log(p)).sum())
        ids = [tuple(graph.vocab.id(word) for word in lines[i].split()) for lines in references]
        known = set().union(*(ngram_counts(words, order) for words in ids))
        for share, derivation in zip(p, listed, strict=True):
            length += share * len(derivation.words)
            for ngram, count in ngram_counts(derivation.words, order).items():
                totals[len(ngram) - 1] += share * count
                matches[len(ngram) - 1] += share * count * (ngram in known)
    return length, matches, totals, np.mean(entropy)


@pytest.mark.parametrize("references", [(REFERENCES,), (REFERENCES, OTHERS)])
@pytest.mark.parametrize("temperature", [0.0, 5.0])
def test_linear_bleu_is_that_of_the_paper(references, temperature):
    case = problem(*references)
    value, _ = RiskForest(gain="linear", p=0.8, r=0.6).risk(case, START)(WEIGHTS, 1.5, temperature)
    length, matches, _, entropy = expected(references, WEIGHTS, 1.5)
    best = case.statistics(case.envelopes(START, np.zeros(3))).sum(axis=0)
    gain = -length + matches @ (1 / (3 * 0.8 * 0.6 ** np.arange(3)))
    assert value == pytest.approx(case.scorer.score(best) * gain / best[1] + temperature * entropy, rel=1e-9)


@pytest.mark.parametrize("references", [(REFERENCES,), (REFERENCES, OTHERS)])
def test_bleu_is_that_of_expected_counts(references):
    case = problem(*references)
    value, _ = RiskForest().risk(case, START)(WEIGHTS, 0.7, 4.0)
    length, matches, totals, entropy = expected(references, WEIGHTS, 0.7)
    reference_length = case.statistics(case.envelopes(START, np.zeros(3))).sum(axis=0)[1]
    assert value == pytest.approx(smooth_bleu(matches, totals, length, reference_length).score + 4 * entropy, rel=1e-9)


@pytest.mark.parametrize("gain", ["bleu", "linear"])
@pytest.mark.parametrize("gamma", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("temperature", [0.0, 0.7, 20.0])
def test_gradients_are_those_of_finite_differences(gain, gamma, temperature):
    risk = RiskForest(gain=gain).risk(problem(), START)
    _, gradient = risk(WEIGHTS, gamma, temperature)
    for i, way in enumerate(np.eye(3) * 1e-5):
        up, down = risk(WEIGHTS + way, gamma, temperature)[0], risk(WEIGHTS - way, gamma, temperature)[0]
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-6)


def test_precisions_are_measured_where_the_search_begins():
    case = problem()
    statistics = case.statistics(case.envelopes(START, np.zeros(3))).sum(axis=0)
    precisions = statistics[2:5] / statistics[5:]
    measured = RiskForest(gain="linear").risk(case, START)(WEIGHTS, 1.0, 0.0)[0]
    ratio = float(np.sqrt(precisions[2] / precisions[0]))
    given = RiskForest(gain="linear", p=float(precisions[0]), r=ratio).risk(case, START)(WEIGHTS, 1.0, 0.0)[0]
    assert measured == pytest.approx(given, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("gain", ["bleu", "linear"])
def test_improves_and_threads_do_not_matter(gain):
    case, tuner = problem(), RiskForest(gain=gain, doublings=3)
    found = [tuner.optimise(case, START, rng=np.random.default_rng(i), runtime=Runtime(threads=i)) for i in (1, 2)]
    assert found[0].weights.tolist() == found[1].weights.tolist()
    risk = tuner.risk(case, START)
    assert risk(found[0].weights, 8.0, 0.0)[0] > risk(START, 8.0, 0.0)[0] + 1


def test_case_is_ignored_if_the_metric_ignores_it():
    upper = [line.upper() for line in REFERENCES]
    values = [
        RiskForest().risk(problem(lines, metric=Bleu(order=3, lowercase=True)), START)(WEIGHTS, 1.0, 1.0)[0]
        for lines in (upper, REFERENCES)
    ]
    assert values[0] == values[1] == RiskForest().risk(problem(), START)(WEIGHTS, 1.0, 1.0)[0]


@pytest.mark.slow
def test_a_hundred_thousand_features():
    rng = np.random.default_rng(5)
    names = [*FEATURES, *(f"sparse.{i}" for i in range(100_000))]
    graphs = []
    for graph, _ in CASES:
        rare = FeatureRows(
            tuple(names[3:]),
            np.arange(graph.edges + 1) * 4,
            rng.integers(0, 100_000, graph.edges * 4).astype(np.int32),
            np.ones(graph.edges * 4),
        )
        graphs.append(replace(graph, features=FeatureRows.join([graph.features, rare])))
    case = HypergraphProblem.of(graphs, problem().scorer, np.tile([-1.0, 1.0], (len(names), 1)))
    start = np.append(START, np.zeros(100_000))
    found = RiskForest(doublings=0, iterations=10).optimise(
        case, start, rng=np.random.default_rng(0), runtime=Runtime(threads=2)
    )
    used = np.unique(np.concatenate([graph.features.ids for graph in graphs]))
    assert np.count_nonzero(found.weights[3:]) > 100
    assert not np.delete(found.weights, used).any()


def test_metrics_that_do_not_count_words_as_they_are_are_refused():
    for metric, reason in ((Ter(), "maximises BLEU"), (Bleu(tokenise="char"), "tokenises them")):
        with pytest.raises(UsageError, match=reason):
            RiskForest().risk(problem(metric=metric), START)
