"""Methods are compared decision by decision, and decisions method by method; all with all while they are few."""

import itertools

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.decision.mbr import Mbr
from dragoman.decision.settings import Decision
from dragoman.evaluation.experiments.plan import Method
from dragoman.evaluation.experiments.plan_parts import AS_DECODED, PlannedDecision
from dragoman.evaluation.experiments.results import ExperimentSystem, SystemStatistics
from dragoman.evaluation.statistics.comparison import compare_groups, conclusive_pairs, groups
from dragoman.evaluation.statistics.significance import conclusive_shares, holm
from dragoman.metrics.combined import parse_metric
from dragoman.tuning.methods.mert import Mert

pytestmark = pytest.mark.slow


def systems_of(methods, decisions):
    tuned = [Method(f"m{i}", Mert()) for i in range(methods)]
    rules = [PlannedDecision(f"d{i}", Decision(Mbr(scale=1.0 + i), "nbest")) for i in range(decisions)]
    return [ExperimentSystem(method, rule) for method in (None, *tuned) for rule in rules or [AS_DECODED]]


def pairs_of(found):
    return [
        frozenset((a.name, b.name))
        for group in found
        if group.new_pairs
        for a, b in itertools.combinations(group.names.values(), 2)
    ]


def test_without_decisions_all_systems_are_one_group():
    for methods in (2, 20):
        systems = systems_of(methods, 0)
        (group,) = groups(systems)
        assert group.title == ""
        assert list(group.names) == ["untuned", *(f"m{i}" for i in range(methods))]


@pytest.mark.parametrize(("methods", "decisions"), [(3, 3), (2, 4), (3, 4), (11, 1), (12, 1)])
def test_every_pair_is_tested_once(methods, decisions):
    systems = systems_of(methods, decisions)
    found = groups(systems)
    pairs = pairs_of(found)
    assert len(set(pairs)) == len(pairs)
    everything = {
        frozenset((a.name, b.name))
        for a, b in itertools.combinations(systems, 2)
        if len(systems) <= 12 or a.method == b.method or a.decision == b.decision
    }
    assert set(pairs) == everything
    if decisions > 1:
        titles = [group.title for group in found if group.title]
        assert titles == ["untuned", *(f"m{i}" for i in range(methods)), *(f"by d{i}" for i in range(decisions))]


def measured_on(systems, wrong):
    """Systems on 60 sentences, in so many of which each system has a wrong word."""
    metric = parse_metric("bleu")
    references = ["a b c d e f", "g h i j k l", "m n o p q r"] * 20
    scorer = metric.scorer([Corpus.from_lines(references)])
    texts = [["x" + line[1:] if i < count else line for i, line in enumerate(references)] for count in wrong]
    statistics = [scorer.statistics(Corpus.from_lines(lines))[None] for lines in texts]
    return SystemStatistics(metric, scorer, dict(zip(systems, statistics, strict=True)))


def test_orders_have_short_names_and_pairs_whole_ones():
    systems = systems_of(1, 2)
    measured = measured_on(systems, [20, 20, 20, 0])
    found = compare_groups(groups(systems), measured)
    assert found.orders[""].startswith("m0 / d1 > ")
    assert found.orders["m0"] == "d1 > d0"
    assert found.orders["by d1"] == "m0 > untuned"
    assert found.orders["by d0"] == "untuned = m0"
    assert len(found.pairs) == 6  # those of methods and decisions are among those of all
    assert (found.pairs[0]["better"], found.pairs[0]["worse"]) == ("m0 / d1", "untuned / d0")
    assert list(found.pairs[0]) == ["better", "worse", "difference", "share", "p bootstrap", "p randomisation"]
    np.testing.assert_allclose(measured.scores(systems[3]), [100.0])


# All together, and each method and decision by itself. Systems differ in four sentences each: a p-value of 0.017.
@pytest.mark.parametrize(("decisions", "neighbours"), [(2, ">"), (7, "≥")])
def test_a_correction_is_for_all_pairs_on_a_test_set(decisions, neighbours):
    systems = systems_of(1, decisions)
    measured = measured_on(systems, [*range(0, 4 * len(systems), 4)])
    raw, corrected = (compare_groups(groups(systems), measured, correction) for correction in ("none", "holm"))
    assert len(raw.pairs) == len(corrected.pairs)
    for column in ("p bootstrap", "p randomisation"):
        wanted = holm([float(pair[column]) for pair in corrected.pairs])
        np.testing.assert_allclose([float(pair[f"{column}, Holm"]) for pair in corrected.pairs], wanted, atol=0.006)
    names = [f"d{i}" for i in range(decisions)]
    assert raw.orders["m0"] == " > ".join(names)
    assert corrected.orders["m0"] == f" {neighbours} ".join(names)
    assert corrected.orders["by d0"] == "untuned > m0"


def test_a_correction_does_not_make_significance_impossible():
    systems = systems_of(11, 1)  # 66 pairs, for which 1,000 resamples would be too few
    found = compare_groups(groups(systems), measured_on(systems, [30] * 11 + [0]), "holm")
    assert found.orders[""].startswith("m10 / d0 > ")


def test_conclusive_shares_are_those_of_each_size():
    systems = systems_of(2, 0)
    measured = measured_on(systems, [9, 6, 0])
    found = conclusive_pairs(groups(systems), measured, [30, 200, 601], samples=20, resamples=100)
    assert [(pair.better, pair.worse) for pair in found] == [("m1", "m0"), ("m1", "untuned"), ("m0", "untuned")]
    assert list(found[0].shares) == [30, 200]  # there are 60 sentences
    for size in (30, 200):
        statistics = [measured.systems[system] for system in systems]
        wanted = conclusive_shares(measured.scorer, statistics, size=size, samples=20, resamples=100)
        assert found[1].shares[size] == (wanted[2, 0], wanted[0, 2])
    assert found[1].shares[200][0] > found[2].shares[30][0]
    assert found[1].row()[:2] == ("m1", "untuned")
    assert conclusive_pairs(groups(systems), measured, [1000]) == []
