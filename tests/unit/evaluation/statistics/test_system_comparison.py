"""Methods are compared decision by decision, and decisions method by method; all with all while they are few."""

import itertools

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.decision.mbr import Mbr
from dragoman.decision.settings import Decision
from dragoman.evaluation.experiments.plan import Method
from dragoman.evaluation.experiments.plan_decisions import AS_DECODED, PlannedDecision
from dragoman.evaluation.experiments.results import Measured, System
from dragoman.evaluation.statistics.system_comparison import compare_group, groups
from dragoman.metrics.combined import parse_metric
from dragoman.tuning.methods.mert import Mert


def systems_of(methods, decisions):
    tuned = [Method(f"m{i}", Mert()) for i in range(methods)]
    rules = [PlannedDecision(f"d{i}", Decision(Mbr(scale=1.0 + i), "nbest")) for i in range(decisions)]
    return [System(method, rule) for method in (None, *tuned) for rule in rules or [AS_DECODED]]


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


def test_orders_have_short_names_and_pairs_whole_ones():
    systems = systems_of(1, 2)
    metric = parse_metric("bleu")
    references = ["a b c d e f", "g h i j k l", "m n o p q r"] * 10
    scorer = metric.scorer([Corpus.from_lines(references)])
    worse = Corpus.from_lines([line.replace("c", "x").replace("i", "y") for line in references])
    statistics = [scorer.statistics(worse)[None]] * 3 + [scorer.statistics(Corpus.from_lines(references))[None]]
    measured = Measured(metric, scorer, dict(zip(systems, statistics, strict=True)))
    found = {group.title: compare_group(group, measured) for group in groups(systems)}
    assert found[""].order.startswith("m0 / d1 > ")
    assert found["m0"].order == "d1 > d0"
    assert found["by d1"].order == "m0 > untuned"
    assert found["by d0"].order == "untuned ≥ m0"
    assert found["m0"].pairs == []  # they are among those of all
    assert len(found[""].pairs) == 6
    assert found[""].pairs[0][:2] == ("m0 / d1", "untuned / d0")
    np.testing.assert_allclose(measured.scores(systems[3]), [100.0])
