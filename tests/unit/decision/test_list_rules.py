"""Rules over n-best lists and samples do what their definitions say."""

import math

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.nbest import NBest
from dragoman.decision.consensus import Consensus
from dragoman.decision.max_derivation import MaxDerivation
from dragoman.decision.max_translation import MaxTranslation
from dragoman.decision.mbr import Mbr
from dragoman.decision.posterior import Posterior
from dragoman.decision.variational import Variational
from dragoman.metrics.combined import parse_metric
from oracles import decision as oracle

pytestmark = pytest.mark.slow

LISTS = [
    [oracle.random_rows(np.random.default_rng([seed, s]), size) for s, size in enumerate((1, 7, 30))]
    for seed in range(40)
]
SCALES = (0.3, 1.0, 2.5)


def check(found, distributions, value, hypotheses=None):
    """The decision has the highest value of all hypotheses, and says so."""
    for s, distribution in enumerate(distributions):
        gain = value(distribution)
        values = {words: gain(words) for words in (hypotheses or distributions)[s]}
        best = max(values.values())
        chosen = tuple(found.translations[s].tolist())
        assert values[chosen] == pytest.approx(best, abs=1e-9, rel=1e-9)
        assert found.values[s] == pytest.approx(best, abs=1e-9, rel=1e-9)


@pytest.mark.parametrize("scale", SCALES)
def test_crunching_adds_up_equal_strings(scale):
    for lists in LISTS:
        expected = [oracle.crunched(rows, scale) for rows in lists]
        nbest = oracle.nbest_of(lists)
        found = Posterior.of_nbest(nbest, scale)
        assert len(found) == 3
        for s, distribution in enumerate(expected):
            rows = range(*found.sentences[s : s + 2])
            assert [tuple(found.strings[i].tolist()) for i in rows] == list(distribution)
            np.testing.assert_allclose(found.probabilities[rows], list(distribution.values()), rtol=1e-12)
            for i in rows:
                assert nbest.hypotheses[int(found.rows[i])].tolist() == found.strings[i].tolist()
        check(MaxTranslation(scale=scale).decide(nbest), expected, lambda p: p.__getitem__)


def test_max_derivation_takes_the_first_best_hypothesis():
    for lists in LISTS:
        found = MaxDerivation().decide(oracle.nbest_of(lists))
        for s, rows in enumerate(lists):
            words, score = max(rows, key=lambda row: row[1])
            assert (tuple(found.translations[s].tolist()), found.values[s]) == (words, score)


def test_max_derivation_of_samples_goes_by_score_or_by_frequency():
    a, b, c, d = (3,), (4,), (5,), (6,)
    # Derivations of one string are not added up: c is the most frequent string of the first sentence.
    lists = [[(c, -4.0), (a, -1.0), (b, -2.0), (c, -3.0)], [(d, -5.0), (a, -1.5), (b, -1.5)]]
    samples = oracle.samples_of(lists, np.array([[2, 1], [0, 1], [2, 2], [1, 1], [3, 0], [1, 1], [0, 3]]))

    def chosen(rule):
        found = rule.decide(samples)
        return [tuple(row.tolist()) for row in found.translations], found.values.tolist()

    assert chosen(MaxDerivation()) == chosen(MaxDerivation(samples_by="score")) == ([a, a], [-1.0, -1.5])
    assert chosen(MaxDerivation(samples_by="frequency")) == ([b, d], [0.4, 0.375])
    assert chosen(MaxTranslation())[0] == [c, d]
    with pytest.raises(UsageError, match="samples_by is 'count'"):
        MaxDerivation(samples_by="count")


@pytest.mark.parametrize("metric", ["bleu", "bleu:order=2", "chrf", "chrf:word_order=2", "ter", "meteor", "bleu-ter"])
def test_mbr_maximises_the_expected_gain_of_the_metric(metric):
    gain = oracle.metric_gain(parse_metric(metric), oracle.VOCAB)
    for lists in LISTS[:2]:
        expected = [oracle.crunched(rows, 0.7) for rows in lists]
        found = Mbr(metric=metric, scale=0.7).decide(oracle.nbest_of(lists))
        check(found, expected, lambda p: oracle.expected_gains(p, gain))


def test_mbr_by_default_is_that_of_sbleu():
    for lists in LISTS:
        expected = [oracle.crunched(rows, 1.0) for rows in lists]
        found = Mbr().decide(oracle.nbest_of(lists))
        check(found, expected, lambda p: oracle.expected_gains(p, oracle.sbleu))


def test_mbr_over_samples_counts_them_and_chooses_among_the_most_frequent():
    rng = np.random.default_rng(5)
    for lists in LISTS[:15]:
        counts = rng.integers(0, 6, (sum(map(len, lists)), 2)) + np.array([1, 0])
        each = iter(counts.sum(axis=1).tolist())
        expected = [oracle.crunched([(words, math.log(next(each))) for words, _ in rows], 1.0) for rows in lists]
        top = [sorted(p, key=lambda words, p=p: -p[words])[:4] for p in expected]
        found = Mbr(hypotheses=4).decide(oracle.samples_of(lists, counts))
        for s, p in enumerate(expected):
            chosen = tuple(found.translations[s].tolist())
            assert p[chosen] >= p[top[s][-1]] - 1e-12
        check(
            Mbr().decide(oracle.samples_of(lists, counts)),
            expected,
            lambda p: oracle.expected_gains(p, oracle.sbleu),
        )


def test_hypotheses_and_evidence_may_come_from_different_lists():
    for ours, theirs in zip(LISTS[:10], LISTS[10:20], strict=True):
        hypotheses, evidence = (Posterior.of_nbest(oracle.nbest_of(lists)) for lists in (ours, theirs))
        found = Mbr().choose_from(hypotheses, evidence)
        check(
            found,
            [oracle.crunched(rows, 1.0) for rows in theirs],
            lambda p: oracle.expected_gains(p, oracle.sbleu),
            [[words for words, _ in rows] for rows in ours],
        )


@pytest.mark.parametrize("order", [1, 2, 4])
def test_consensus_is_bleu_against_expected_counts(order):
    for lists in LISTS:
        expected = [oracle.crunched(rows, 0.8) for rows in lists]
        found = Consensus(order=order, scale=0.8).decide(oracle.nbest_of(lists))
        check(found, expected, lambda p: oracle.consensus_gains(p, order))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_variational_uses_the_ngram_model_of_expected_counts(order):
    for lists in LISTS:
        expected = [oracle.crunched(rows, 0.8) for rows in lists]
        found = Variational(order=order, scale=0.8).decide(oracle.nbest_of(lists))
        check(found, expected, lambda p: oracle.variational_logs(p, order))


def test_variational_mixes_orders_and_the_model():
    for lists in LISTS[:15]:
        expected = [oracle.crunched(rows, 1.0) for rows in lists]
        found = Variational(order=3, theta="0.5 0 2", derivation_weight=0.3).decide(oracle.nbest_of(lists))

        def value(p):
            first, third = (oracle.variational_logs(p, n) for n in (1, 3))
            return lambda words: 0.5 * first(words) + 2 * third(words) + 0.3 * math.log(p[words])

        check(found, expected, value)


def test_evidence_without_numbers_is_refused_unless_all_count_alike():
    rows = [((3, 4), math.nan), ((3,), math.nan), ((3,), math.nan)]
    nbest = oracle.nbest_of([[((5,), 0.0)], rows])
    with pytest.raises(
        DataError, match=r"^3 of 4 hypotheses have no finite score, the first of them is hypothesis 1 of sentence 2"
    ):
        Mbr().decide(nbest)
    with pytest.raises(DataError, match="have no log-probabilities"):
        Mbr(weights_from="logprob").decide(nbest)
    found = MaxTranslation(weights_from="uniform").decide(nbest)
    assert found.lines() == ["w2", "w0"]
    assert found.values.tolist() == [1.0, pytest.approx(2 / 3)]


@pytest.mark.parametrize(
    ("rule", "options", "message"),
    [
        (Mbr, {"scale": 0.0}, "scale is 0; expected more than 0"),
        (MaxTranslation, {"scale": -1.0}, "scale is -1; expected more than 0"),
        (Mbr, {"scale": math.nan}, "scale is nan"),
        (Mbr, {"metric": "blue"}, "no metric is called 'blue'"),
        (Mbr, {"metric": "precomputed:path=x"}, "cannot compare two strings"),
        (Mbr, {"metric": "bleu-precomputed(path=x)"}, "cannot compare two strings"),
        (Variational, {"theta": "1 2"}, "expected 4 numbers"),
        (Variational, {"theta": "1 2 x 4"}, "expected 4 numbers"),
        (Variational, {"theta": "0 0 0 0"}, "something to maximise"),
    ],
)
def test_options_without_a_meaning_are_refused(rule, options, message):
    with pytest.raises(UsageError, match=message):
        rule(**options)


def test_samples_have_their_scale_already():
    samples = oracle.samples_of([[((3,), 0.0)]], np.ones((1, 1), np.int64))
    with pytest.raises(UsageError, match="the scale at which they were drawn"):
        Mbr(scale=2.0).decide(samples)


def test_weights_of_zero_are_fine_unless_all_are():
    nbest = oracle.nbest_of([[((3,), -math.inf), ((4,), 0.0)]])
    assert MaxTranslation().decide(nbest).lines() == ["w1"]
    hopeless = oracle.nbest_of([[((4,), 0.0)], [((3,), -math.inf)]])
    with pytest.raises(DataError, match="all hypotheses of sentence 2 have probability 0"):
        MaxTranslation().decide(hopeless)


def test_evidence_for_other_sentences_is_refused():
    one, two = (Posterior.of_nbest(oracle.nbest_of(LISTS[0][:n])) for n in (1, 2))
    with pytest.raises(DataError, match="hypotheses for 2 sentences and evidence for 1"):
        Mbr().choose_from(two, one)
    empty = Posterior.of_nbest(oracle.nbest_of([[]]))
    with pytest.raises(DataError, match="sentence 1 has hypotheses but no evidence"):
        Mbr().choose_from(one, empty)


def test_log_probabilities_count_before_scores():
    nbest = oracle.nbest_of([[((3,), 0.0), ((4,), -9.0)]])
    known = NBest(**{**vars(nbest), "logprobs": np.array([-5.0, -1.0])})
    assert MaxTranslation().decide(known).lines() == ["w1"]
    assert MaxTranslation(weights_from="score").decide(known).lines() == ["w0"]
