"""Estimators of expected utility, beside the exact sum over all pairs."""

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.nbest import NBest
from dragoman.decision.diversity import diverse_rows
from dragoman.decision.estimators import ESTIMATORS
from dragoman.decision.estimators.aggregated import Aggregated, aggregated_scores
from dragoman.decision.estimators.centroids import Centroids, k_means
from dragoman.decision.estimators.coarse_to_fine import CoarseToFine
from dragoman.decision.estimators.exact import Exact
from dragoman.decision.estimators.low_rank import LowRank, _new_cells, complete
from dragoman.decision.estimators.pruned import Pruned
from dragoman.decision.expected_utility import UtilityEstimation
from dragoman.decision.gains import expected_gains
from dragoman.decision.posterior import Posterior
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.chrf import Chrf
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.utility import utility_of

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "mat", "today", "slowly"]


def posterior(sentences=3, candidates=24, seed=1, equal=True):
    """Lists of noisy versions of a sentence each."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(sentences):
        base = rng.choice(WORDS, 8)
        for _ in range(candidates):
            changed = np.where(rng.random(8) < rng.uniform(0.05, 0.6), rng.choice(WORDS, 8), base)
            texts.append(" ".join(changed[: rng.integers(5, 9)]))
    bounds = np.arange(sentences + 1) * candidates
    scores = [0.0] * len(texts) if equal else rng.normal(0, 1, len(texts)).tolist()
    return Posterior.of_nbest(NBest.of_texts(texts, scores, bounds))


def slow_chrf(hypotheses, references, sources):
    """The metric as a function, so that no kernel takes a batch."""
    return utility_of("chrf").score(hypotheses, references, sources)


def estimate(estimator, of, utility=slow_chrf, **options):
    estimation = UtilityEstimation(PairScorer(utility_of(utility)), estimator, **options)
    return estimation.expected(of, of), estimation.report


@pytest.mark.parametrize("equal", [True, False])
def test_exact_is_the_sum_over_all_pairs(equal):
    of = posterior(equal=equal)
    found, report = estimate(Exact(), of)
    assert found == pytest.approx(expected_gains(Chrf(), of, of)[0])
    sizes = np.diff(of.sentences)
    assert report.calls == report.pairs == int(sizes @ sizes)


def test_a_metric_by_name_is_computed_by_its_kernel():
    of = posterior()
    found, report = estimate(Exact(), of, "chrf")
    assert np.array_equal(found, expected_gains(Chrf(), of, of)[0])
    assert report.calls == report.pairs


@pytest.mark.parametrize("name", ESTIMATORS.names())
class TestEveryEstimator:
    def test_it_loses_little_and_says_how_much(self, name):
        of = posterior(sentences=6, candidates=40)
        utility = "chrf" if name == "aggregated" else slow_chrf
        options = {"budget": 0.3} if name == "low-rank" else {}
        found, report = estimate(ESTIMATORS.get(name)(**options), of, utility, check=6)
        exact = expected_gains(Chrf(), of, of)[0]
        chosen = best = 0.0
        same = 0
        for begin, end in zip(of.sentences, of.sentences[1:], strict=False):
            at = int(found[begin:end].argmax())
            chosen, best = chosen + exact[begin:end][at], best + exact[begin:end].max()
            same += at == int(exact[begin:end].argmax())
        assert chosen >= 0.95 * best
        assert report.regret.sentences == 6
        assert report.regret.same_choice == same
        assert report.regret.mean == pytest.approx((best - chosen) / 6)

    def test_the_seed_decides(self, name):
        of = posterior()
        utility = "chrf" if name == "aggregated" else slow_chrf
        first, again = (estimate(ESTIMATORS.get(name)(), of, utility, seed=3)[0] for _ in range(2))
        assert np.array_equal(first, again)

    def test_it_does_not_matter_how_sentences_are_cut_into_blocks(self, name):
        of = posterior(sentences=4)
        utility = utility_of("chrf" if name == "aggregated" else slow_chrf)
        whole = UtilityEstimation(PairScorer(utility), ESTIMATORS.get(name)()).expected(of, of)
        parts = UtilityEstimation(PairScorer(utility), ESTIMATORS.get(name)())
        cut = [parts.expected(one, one) for one in (of.part(0, 1), of.part(1, 4))]
        assert np.concatenate(cut) == pytest.approx(whole, rel=1e-12)

    def test_one_hypothesis_and_empty_strings_are_ordinary(self, name):
        lists = NBest.of_texts(["the cat", "", "the cat sat", ""], [0.0] * 4, np.array([0, 1, 4]))
        of = Posterior.of_nbest(lists)
        found, _ = estimate(ESTIMATORS.get(name)(), of, "chrf" if name == "aggregated" else slow_chrf)
        assert not np.isnan(found).any()
        assert np.isfinite(found[[0]]).all()


@pytest.mark.parametrize(
    ("estimator", "share"),
    [
        (Pruned(first=4, references=32), 0.4),
        (LowRank(budget=0.1), 0.11),
        (Centroids(clusters=4), 0.12),
        (CoarseToFine(keep=4), 0.12),
    ],
)
def test_fewer_pairs_are_scored(estimator, share):
    of = posterior(sentences=4, candidates=40)
    _, report = estimate(estimator, of)
    assert 0 < report.calls <= share * report.pairs


class TestPruned:
    def test_a_clear_winner_leaves_the_others_ruled_out(self):
        lists = NBest.of_texts(["the cat sat"] * 30 + ["dogs", "mats"], [0.0] * 32, np.array([0, 32]))
        found, _ = estimate(Pruned(), Posterior.of_nbest(lists))
        assert found.argmax() == 0
        assert np.isneginf(found[1:]).all()

    def test_full_confidence_prunes_nothing(self):
        found, _ = estimate(Pruned(confidence=1.0), posterior())
        assert np.isfinite(found).all()


class TestLowRank:
    def test_a_matrix_of_low_rank_is_recovered(self):
        rng = np.random.default_rng(2)
        truth = (
            50
            + rng.normal(0, 5, (30, 1))
            + rng.normal(0, 3, (1, 40))
            + rng.normal(0, 1, (30, 2)) @ rng.normal(0, 4, (2, 40))
        )
        mask = rng.random(truth.shape) < 0.5
        found = complete(np.where(mask, truth, 0.0), mask, 2, 1e-3, 50, rng)
        assert np.abs(found - truth)[~mask].mean() < 0.25 * np.abs(truth - truth.mean())[~mask].mean()

    def test_cells_that_are_known_are_not_drawn_again(self):
        known = np.eye(6, 9, dtype=bool)
        rows, columns = _new_cells(known, 4, np.random.default_rng(1))
        assert np.bincount(rows).tolist() == [4] * 6
        assert not known[rows, columns].any()
        assert len({*zip(rows.tolist(), columns.tolist(), strict=True)}) == 24
        everything = _new_cells(known, 9, np.random.default_rng(1))
        assert len(everything[0]) == 6 * 8

    def test_rounds_find_better_candidates_than_a_single_one(self):
        of = posterior(sentences=20, candidates=60)
        exact = expected_gains(Chrf(), of, of)[0]
        gained = []
        for rounds in (1, 3):
            found, report = estimate(LowRank(budget=0.1, rounds=rounds), of)
            assert report.calls <= 0.11 * report.pairs
            chosen = [
                exact[begin:end][found[begin:end].argmax()]
                for begin, end in zip(of.sentences, of.sentences[1:], strict=False)
            ]
            gained.append(np.mean(chosen))
        assert gained[1] > gained[0]

    def test_a_string_scored_with_itself_does_not_win_by_that(self):
        of = Posterior.of_nbest(NBest.of_texts([*map(str, range(30))], [0.0] * 30, np.array([0, 30])))
        found, _ = estimate(
            LowRank(rounds=1), of, lambda ours, theirs: [float(a == b) for a, b in zip(ours, theirs, strict=True)]
        )
        assert found == pytest.approx(np.full(30, 1 / 30))  # all are equally good

    def test_all_cells_give_the_exact_values(self):
        of = posterior(candidates=10)
        found, _ = estimate(LowRank(budget=1.0, rank=0, rounds=1), of)
        exact = expected_gains(Chrf(), of, of)[0]
        for begin, end in zip(of.sentences, of.sentences[1:], strict=False):
            assert found[begin:end].argmax() == exact[begin:end].argmax()


class TestCentroids:
    def test_as_many_clusters_as_strings_give_the_exact_values(self):
        of = posterior(candidates=10)
        found, _ = estimate(Centroids(clusters=10), of)
        assert found == pytest.approx(expected_gains(Chrf(), of, of)[0])

    def test_k_means_finds_separate_groups(self):
        rng = np.random.default_rng(3)
        vectors = np.concatenate([rng.normal(0, 0.1, (20, 3)), rng.normal(5, 0.1, (30, 3))])
        labels, centres = k_means(vectors, np.ones(50), 2, 20, rng)
        assert len({*labels[:20].tolist()}) == len({*labels[20:].tolist()}) == 1
        assert labels[0] != labels[-1]
        assert centres[labels[0]] == pytest.approx(vectors[:20].mean(axis=0))


class TestAggregated:
    def test_one_string_of_evidence_gives_the_metric_itself(self):
        of = posterior(sentences=2, candidates=12)
        alone = of.top(1)
        for metric in (Chrf(), Bleu()):
            exact = expected_gains(metric, of, alone)[0] / alone.probabilities[of.sentence_numbers]
            assert aggregated_scores(metric, of, alone) == pytest.approx(exact)

    def test_counts_are_averaged(self):
        lists = NBest.of_texts(["ab", "abab"], [0.0, 0.0], np.array([0, 2]))
        of = Posterior.of_nbest(lists)
        found = aggregated_scores(Chrf(char_order=1), of, of)
        # The average reference has 1.5 of a and of b, 3 characters: "ab" matches 2 of 2, and 2 of 3.
        precision, recall = 1.0, 2 / 3
        assert found[0] == pytest.approx(100 * 5 * precision * recall / (4 * precision + recall))

    def test_embeddings_are_averaged(self):
        class Embedded:
            def score(self, hypotheses, references, sources):
                raise AssertionError("pairs are not scored")

            def embed(self, texts):
                return np.array([[len(text), 1.0] for text in texts], np.float64)

            def score_embedded(self, hypotheses, references, sources):
                return -np.abs(hypotheses[:, 0] - references[:, 0])

        lists = NBest.of_texts(["a", "bbb", "ccccc"], [0.0] * 3, np.array([0, 3]))
        found, report = estimate(Aggregated(), Posterior.of_nbest(lists), Embedded())
        assert found.tolist() == [-2.0, 0.0, -2.0]
        assert report.calls == 3

    @pytest.mark.parametrize("utility", ["ter", slow_chrf, "chrf:word_order=2"])
    def test_other_utilities_are_refused(self, utility):
        with pytest.raises(UsageError, match="aggregate"):
            estimate(Aggregated(), posterior(), utility)


def test_sources_reach_the_utility():
    def by_source(hypotheses, references, sources):
        return [float(hypothesis == source) for hypothesis, source in zip(hypotheses, sources, strict=True)]

    lists = NBest.of_texts(["a", "b", "c", "d"], [0.0] * 4, np.array([0, 2, 4]))
    of = Posterior.of_nbest(lists)
    found = UtilityEstimation(PairScorer(utility_of(by_source))).expected(of, of, ["b", "d"])
    assert found.tolist() == [0.0, 1.0, 0.0, 1.0]


def test_a_quality_estimate_filters_before_the_utility():
    class Estimate:
        needs_reference = False

        def score(self, hypotheses, references, sources):
            return [float(len(text)) for text in hypotheses]

    estimator = CoarseToFine(keep=2)
    object.__setattr__(estimator, "_coarse", PairScorer(Estimate()))
    lists = NBest.of_texts(["a", "bbb", "cc"], [0.0] * 3, np.array([0, 3]))
    found, report = estimate(estimator, Posterior.of_nbest(lists))
    assert np.isneginf(found[0])
    assert report.calls == 6


def test_hypotheses_without_evidence_are_refused():
    of = Posterior.of_nbest(NBest.of_texts(["a", "b"], [0.0, 0.0], np.array([0, 1, 2])))
    alone = Posterior.of_nbest(NBest.of_texts(["a"], [0.0], np.array([0, 1, 1])))
    with pytest.raises(DataError, match="sentence 2 has hypotheses but no evidence"):
        UtilityEstimation(PairScorer(utility_of("chrf"))).expected(of, alone)


def test_diverse_sets_are_good_and_different():
    texts = ["the cat sat on the mat", "the cat sat on a mat", "a dog ran today", "x"]
    values = np.array([10.0, 9.9, 8.0, 0.0])
    assert diverse_rows(texts, values, 2).tolist() == [0, 2]
    assert diverse_rows(texts, values, 2, weight=0.0).tolist() == [0, 1]
    assert diverse_rows(texts, np.array([1.0, -np.inf, 0.5, -np.inf]), 3).tolist() == [0, 2]
    assert diverse_rows([], np.empty(0), 3).tolist() == []
