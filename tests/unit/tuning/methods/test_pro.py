from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.progress import DragomanWarning
from dragoman.core.runtime import Runtime
from dragoman.metrics.bleu import Bleu
from dragoman.tuning.methods import pro
from dragoman.tuning.methods.pro import Pro, ranking_loss
from dragoman.tuning.problems.problem import Problem, differences
from oracles.counted_bleu import CountedBleu
from oracles.tuning_margin import ErrorRate, oracle_objective, random_problem, separable_problem


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def sampled(problem: Problem, tuner: Pro, seed: int) -> np.ndarray:
    """The differences of the pairs that the tuner samples with a generator of this seed."""
    statistics = problem.statistics.copy()
    statistics[:, problem.scorer.bleu_columns[-1]] += tuner.longer_references
    scores = problem.sign * problem.scorer.sentence_scores(statistics) / 100
    better, worse = kernels.sample_pairs(
        problem.sentences,
        scores,
        tuner.samples,
        tuner.pairs,
        tuner.threshold,
        tuner.selection == "largest",
        int(rng(seed).integers(2**63)),
        1,
        None,
    )
    dense = problem.features.dense()
    return dense[better] - dense[worse]


def test_differences_of_rows_with_repeated_and_missing_features() -> None:
    problem = random_problem(rng(3))
    better, worse = rng().integers(0, len(problem.features), (2, 30))
    dense = problem.features.dense()
    result = differences(problem, better, worse)
    np.testing.assert_allclose(result.toarray(), dense[better] - dense[worse], rtol=0, atol=1e-15)
    assert result.has_canonical_format


def test_gradient_of_the_loss() -> None:
    generator = rng(4)
    pairs = csr_matrix(generator.normal(size=(20, 5)))
    mean, weights = generator.normal(size=(2, 5))
    _, gradient = ranking_loss(weights, pairs, mean, 0.3)
    for k in range(5):
        step = 1e-5 * np.eye(5)[k]
        above, below = (ranking_loss(weights + s, pairs, mean, 0.3)[0] for s in (step, -step))
        assert gradient[k] == pytest.approx((above - below) / 2e-5, rel=1e-7, abs=1e-7)


def test_loss_of_huge_margins_does_not_overflow() -> None:
    pairs = csr_matrix(np.array([[1000.0], [-1000.0]]))
    loss, gradient = ranking_loss(np.ones(1), pairs, np.ones(1), 1.0)
    assert loss == 2000
    assert gradient.tolist() == [2000.0]


@pytest.mark.parametrize(("longer", "better"), [(0.0, 1), (1.0, 0)])
def test_short_candidates_win_only_if_references_are_as_long_as_they_are(longer: float, better: int) -> None:
    scorer = Bleu().scorer([Corpus.from_lines(["a"])])
    assert scorer.bleu_columns is not None
    statistics = np.zeros((2, 10))
    # The same matches in ten words and in nine, of a reference of ten: BLEU+1 is 62.8 and 63.1.
    statistics[:, scorer.bleu_columns] = [[8, 6, 4, 3, 10, 9, 8, 7, 10, 10], [8, 6, 4, 3, 9, 8, 7, 6, 9, 10]]
    features = FeatureRows.from_dense(["words"], np.array([[10.0], [9.0]]))
    problem = Problem(np.array([0, 2]), features, statistics, scorer, np.zeros((1, 2)))
    found = Pro(longer_references=longer, threshold=0).sampled(problem, rng())
    assert [rows.tolist() for rows in found] == [[better], [1 - better]]


@pytest.mark.parametrize("selection", ["random", "largest"])
@pytest.mark.parametrize("variance", [0.1, 1.0, 100.0])
def test_weights_are_those_of_logistic_regression(variance: float, selection: Literal["random", "largest"]) -> None:
    problem = random_problem(rng(5), sentences=40)
    tuner = Pro(variance=variance, selection=selection)
    found = tuner.optimise(problem, np.zeros(4), rng=rng(8))
    pairs = sampled(problem, tuner, 8)
    examples, labels = np.concatenate([pairs, -pairs]), np.repeat([1, -1], len(pairs))
    machine = LogisticRegression(C=variance, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(examples, labels)
    np.testing.assert_allclose(found.weights, machine.coef_[0], rtol=0, atol=1e-5)
    loss = np.logaddexp(0, -labels * (examples @ found.weights)).sum() + (found.weights**2).sum() / (2 * variance)
    assert found.objective == pytest.approx(-loss, rel=1e-12)


def test_prior_towards_the_weights_before() -> None:
    problem = random_problem(rng(5), sentences=40)
    start = np.array([3.0, -2.0, 1.0, 0.5])
    far = Pro().optimise(problem, start, rng=rng()).weights
    np.testing.assert_array_equal(far, Pro().optimise(problem, np.zeros(4), rng=rng()).weights)
    near = Pro(prior="previous", variance=1e-6).optimise(problem, start, rng=rng()).weights
    np.testing.assert_allclose(near, start, rtol=0, atol=1e-2)
    assert np.abs(far - start).max() > 1


@pytest.mark.parametrize("scorer", [CountedBleu(), ErrorRate()], ids=["bleu", "errors"])
def test_separable_problems_are_solved(scorer: CountedBleu) -> None:
    problem = separable_problem(rng(7), scorer)
    found = Pro(variance=1e4).optimise(problem, np.zeros(5), rng=rng())
    assert problem.objective(np.zeros(5)) < oracle_objective(problem)
    assert problem.objective(found.weights) == oracle_objective(problem)


def test_scaled_features_scale_the_weights() -> None:
    problem = random_problem(rng(5), sentences=40)
    features = problem.features
    scaled = FeatureRows(features.names, features.offsets, features.ids, features.values * 8)
    larger = Problem(problem.sentences, scaled, problem.statistics, problem.scorer, problem.ranges)
    before = Pro(variance=64.0).optimise(problem, np.zeros(4), rng=rng()).weights
    after = Pro(variance=1.0).optimise(larger, np.zeros(4), rng=rng()).weights
    np.testing.assert_allclose(after * 8, before, rtol=0, atol=1e-4)


def test_same_result_for_any_number_of_threads() -> None:
    problem = random_problem(rng(2), sentences=150)
    results = [
        Pro().optimise(problem, np.zeros(4), rng=rng(s), runtime=Runtime(threads=t)).weights
        for s, t in ((4, 1), (4, 2), (5, 1))
    ]
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).any()


def test_says_so_if_the_solver_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pro, "MAX_STEPS", 1)
    with pytest.warns(DragomanWarning, match="did not find the best weights in 1 steps"):
        Pro(variance=100.0).optimise(random_problem(rng(5), sentences=40), np.zeros(4), rng=rng())


def test_without_pairs_the_weights_stay() -> None:
    start = rng().normal(size=4)
    with pytest.warns(DragomanWarning, match="no two candidates of a sentence"):
        found = Pro().optimise(random_problem(rng(1), candidates=1), start, rng=rng())
    np.testing.assert_array_equal(found.weights, start)


def test_metrics_without_sentence_scores_are_refused() -> None:
    class Odd(CountedBleu):
        def sentence_scores(self, statistics: np.ndarray) -> np.ndarray:
            return np.full(statistics.shape[:-1], np.nan)

    with pytest.raises(UsageError, match="no finite scores of single sentences"):
        Pro().optimise(random_problem(rng(1), scorer=Odd()), np.zeros(4), rng=rng())
