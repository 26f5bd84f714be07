"""Classes of rules: those of several features at once."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.features import HoleRows
from dragoman.search.chart.holes import by_class, classes_of_rules
from dragoman.search.chart.translator import ChartTranslator
from oracles import chart_space, linked_rules
from oracles.rule_table import is_reordered


def of_classes(numbers, classes):
    return HoleRows(np.array(numbers, np.int64), classes, np.zeros(0, np.int64), FeatureRows.zeros(classes))


def test_without_features_all_rules_are_in_one_class():
    joint, rows = classes_of_rules([], 3)
    assert joint.tolist() == [0, 0, 0]
    assert rows.shape == (1, 0)


def test_joint_classes_are_those_that_occur():
    joint, rows = classes_of_rules([of_classes([1, 0, 1, 1], 2), of_classes([2, 2, 0, 2], 3)], 4)
    assert joint.dtype == np.uint8
    assert rows[joint].tolist() == [[1, 2], [0, 2], [1, 0], [1, 2]]
    assert len(rows) == 3


def test_without_rules_there_is_a_class_all_the_same():
    joint, rows = classes_of_rules([of_classes([], 2), of_classes([], 3)], 0)
    assert len(joint) == 0
    assert rows.shape == (1, 2)


def test_a_feature_is_weighted_for_each_match_and_class():
    rows = FeatureRows.from_dense(["a", "b"], np.array([[1.0, 0], [0, 1], [2, 0], [0, 2]]))
    holes = HoleRows(np.array([0, 1]), 2, np.array([1, 0, 1]), rows)
    assert by_class(holes, Weights({"a": 1.0, "b": 10.0})).tolist() == [[2, 20], [1, 10], [2, 20]]
    assert holes.numbers(np.array([1, -1, 0]), np.array([0, -1, 1])).tolist() == [3, -1, 0]


@pytest.mark.parametrize("numbers", [[0, 1], [0, 1, 2], [0, -1, 1]])
def test_classes_that_are_none_are_refused(numbers):
    with pytest.raises(UsageError, match="no class from 0 to 1 for each of 3 rules"):
        classes_of_rules([of_classes(numbers, 2)], 3)


def test_more_classes_than_a_byte_tells_apart_are_refused():
    with pytest.raises(UsageError, match="tell 300 classes apart; expected at most 256"):
        classes_of_rules([of_classes(range(300), 300)], 300)


@pytest.mark.parametrize("seed", range(10))
def test_holes_are_reordered_if_they_cross_a_link_or_each_other(seed):
    rng = np.random.default_rng(seed)
    model = linked_rules.with_random_links(chart_space.random_model(rng, grammars=2, rules=30), rng)
    lines = [*(chart_space.random_sentence(rng, 8) for _ in range(5)), ""]
    rules = ChartTranslator(model).batch(lines).rules
    every = [linked_rules.sides(grammar) for grammar in rules.grammars]
    found = 0
    for (grammar, row), reordered in zip(
        zip(rules.grammar.tolist(), rules.row.tolist(), strict=True), rules.reordered.tolist(), strict=True
    ):
        expected = [False, False]
        if grammar >= 0:
            source, target = ([-1 - s if s < 0 else str(s) for s in side] for side in every[grammar][row])
            links = [divmod(link, 256) for link in rules.grammars[grammar].alignments[row].tolist()]
            for hole in (symbol for symbol in source if isinstance(symbol, int)):
                expected[hole] = is_reordered(source, target, links, hole)
        assert reordered == expected
        found += sum(expected)
    assert found > 0
