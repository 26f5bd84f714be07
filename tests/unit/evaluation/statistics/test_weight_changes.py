"""Differences between weights."""

import math

import pytest

from dragoman.evaluation.statistics.weight_changes import Change, compare_weights, scale_weights


def test_changes_are_sorted_and_missing_names_count():
    found = compare_weights({"a": 1.0, "b": 2.0, "gone": 0.0, "c": -1.0}, {"a": 1.0, "b": 2.5, "new": -0.5, "c": 1.0})
    assert [change.name for change in found.changes] == ["c", "b", "new", "gone"]
    assert (found.same, found.only_before, found.only_after) == (1, 1, 1)
    dot, first, second = 1 + 5 - 1, 1 + 4 + 1, 1 + 6.25 + 0.25 + 1
    assert found.cosine == pytest.approx(dot / math.sqrt(first * second), rel=1e-15)


def test_relative_differences():
    assert Change("a", 2.0, 1.0).relative == 0.5
    assert Change("a", 1.0, 2.0).relative == 0.5
    assert Change("a", None, 2.0).relative == 1
    assert Change("a", -1.0, 1.0).relative == 2
    assert Change("a", 0.0, None).relative == 0


def test_scale_and_weights_that_are_never_tuned():
    before = {"lm": 3.0, "tm": -1.0, "unknown_word": 1.0}
    assert scale_weights(before) == {"lm": 0.75, "tm": -0.25, "unknown_word": 1.0}
    found = compare_weights(before, {"lm": 6.0, "tm": -2.0, "unknown_word": -5.0})
    assert found.cosine == pytest.approx(1, rel=1e-15)
    assert found.changes[0].name == "unknown_word"
    assert compare_weights({"lm": 0.0}, {"lm": 1.0}).cosine == 0
