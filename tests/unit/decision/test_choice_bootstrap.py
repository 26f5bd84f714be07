"""Confidence of MBR choices: the share of resampled evidence that leads to the same choice."""

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.errors import UsageError
from dragoman.decision.choice_bootstrap import ChoiceBootstrap
from dragoman.metrics.utility import utility_of
from oracles.decision import choice_shares

LISTS = [
    ["the cat sat", "a cat sat", "dogs", "the cat sat", "the cats sat down"],
    ["it rains", "rain", "it is raining", "it rains now"],
    ["one"],
]


def overlap(hypotheses, references):
    return [
        len({*a.split()} & {*b.split()}) / len({*a.split()} | {*b.split()})
        for a, b in zip(hypotheses, references, strict=True)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_shares_are_those_of_all_resamples(seed):
    rng = np.random.default_rng(seed)
    utilities, probabilities = rng.random((4, 3)), rng.dirichlet(np.ones(3))
    if seed == 3:  # equals: the first of them is chosen
        utilities[1] = utilities[0]
    exact = choice_shares(utilities.tolist(), probabilities.tolist(), draws=4)
    found = ChoiceBootstrap(40_000, seed).shares(utilities, probabilities, 4, 0)
    assert found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found, exact, atol=0.012)  # five standard deviations
    assert (found[np.array(exact) == 0] == 0).all()


def test_more_agreement_gives_more_confidence():
    found = dm.mbr([["a b c"] * 9 + ["x y z"], ["a b c"] * 3 + ["x y z"] * 2], utility="chrf", resamples=500)
    sure, unsure = found.confidences
    assert sure > 0.99 > 0.8 > unsure > 0.5
    assert dm.mbr(LISTS, utility="chrf").confidences is None


@pytest.mark.parametrize("utility", ["chrf", "bleu", overlap])
def test_the_same_seed_gives_the_same_for_any_threads(utility):
    one, two = (dm.mbr(LISTS, utility=utility, resamples=200, threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one.candidates.confidences, two.candidates.confidences)
    other = dm.mbr(LISTS, utility=utility, resamples=200, seed=2)
    assert not np.array_equal(one.candidates.confidences, other.candidates.confidences)
    assert one == dm.mbr(LISTS, utility=utility)
    assert one.confidences[2] == 1


def test_functions_are_not_called_again():
    plain, resampled = (dm.mbr(LISTS, utility=overlap, resamples=n) for n in (0, 100))
    assert resampled.report.calls == plain.report.calls == resampled.report.pairs


def test_functions_and_metrics_agree():
    def chrf(hypotheses, references):
        return utility_of("chrf").score(hypotheses, references, hypotheses)

    ours, theirs = (dm.mbr(LISTS, utility=utility, resamples=300) for utility in ("chrf", chrf))
    np.testing.assert_array_equal(ours.candidates.confidences, theirs.candidates.confidences)


def test_frames_have_the_confidence_of_all_candidates():
    pytest.importorskip("pandas")
    table = dm.mbr(LISTS, utility="chrf", resamples=100).frame()
    assert table.groupby("sentence")["confidence"].sum().tolist() == pytest.approx([1, 1, 1])
    assert "confidence" not in dm.mbr(LISTS, utility="chrf").frame()


def test_estimators_without_all_utilities_are_refused():
    with pytest.raises(UsageError, match="needs all utilities, which pruned does not compute; expected the estimator"):
        dm.mbr(LISTS, utility="chrf", estimator="pruned", resamples=100)
