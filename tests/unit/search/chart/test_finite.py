"""Scores that are not finite are errors with a name, in every search."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.weights import Weights
from dragoman.features import HoleFeature, HoleRows, PairFeature, SpanFeature
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SearchLimits, SpaceLimits
from oracles import chart_space
from oracles.handmade import handmade

WAYS = [
    {},
    {"limits": SearchLimits(algorithm="exhaustive")},
    {"space": SpaceLimits(table_limit=2, table_limit_by="score")},
]


def model_and_line():
    rng = np.random.default_rng(3)
    return chart_space.random_model(rng, language_models=2), chart_space.random_sentence(rng, 4)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["word_penalty", "lm2", "glue", "tm.fwd", "unknown_word"])
def test_weights_that_overflow_are_named(way, name):
    model, line = model_and_line()
    translator = ChartTranslator(model, model.weights.updated({name: 1e308}), **way)
    with pytest.raises(DataError, match=rf"{name} .*1e\+308; expected features and weights whose sum is finite"):
        list(translator.translate([f"{line} f0 f1 f2 f3 f4"]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
@pytest.mark.parametrize("name", ["lm", "tm.bwd", "glue"])
def test_weights_that_are_no_numbers_are_named(way, value, name):
    model, line = model_and_line()
    translator = ChartTranslator(model, model.weights.updated({name: value}), **way)
    with pytest.raises(UsageError, match=f"weight of {name} is {value}; expected a finite number"):
        list(translator.translate([line]))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_no_numbers_are_named(value):
    model, line = model_and_line()

    def of_rules(pairs):
        return FeatureRows.from_dense(["odd"], np.full((len(pairs.words), 1), value))

    def of_spans(spans):
        return FeatureRows.from_dense(["odd"], np.full((len(spans.begin), 1), value))

    def of_holes(rules):
        classes = np.arange(len(rules)) == len(rules) - 1
        rows = FeatureRows.from_dense(["odd"], np.array([[0.0], [value]]))
        return HoleRows(classes, 2, np.zeros(len(rules.matches), np.int64), rows)

    for feature in (
        handmade(PairFeature, of_rules),
        handmade(SpanFeature, of_spans, needs_trees=False),
        handmade(HoleFeature, of_holes),
    ):
        translator = ChartTranslator(model, model.weights.updated({"odd": 2.0}), features=[feature])
        with pytest.raises(DataError, match=f"a rule on '.*' .*scores {value}: odd is {value} and weighs 2; expected"):
            list(translator.translate([line]))


def test_large_weights_that_can_be_summed_are_taken():
    model, line = model_and_line()
    large = Weights({name: value * 1e60 for name, value in model.weights.items()})
    (found,) = ChartTranslator(model, large).translate([line])
    assert found.phrases
    assert list(ChartTranslator(model, model.weights).translate([""]))
