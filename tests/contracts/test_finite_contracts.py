"""Scores that are not finite are errors with a name, in every search of every kind of model."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.features import HoleFeature, HoleRows, PairFeature, SpanFeature
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.translator import Translator
from oracles import chart_space, phrase_space
from oracles.handmade import handmade

SPACES = {"phrase": phrase_space, "chart": chart_space}
BOTH = [
    {},
    {"limits": SearchLimits(algorithm="cube")},
    {"limits": SearchLimits(algorithm="exhaustive")},
    {"space": SpaceLimits(table_limit=2, table_limit_by="score")},
]
WAYS = [*((kind, way) for kind in SPACES for way in BOTH), ("phrase", {"climbing": HillClimbing()})]
NAMES = {
    "phrase": ["word_penalty", "lm2", "tm.fwd", "unknown_word", "distortion", "lr.bwd.mono"],
    "chart": ["word_penalty", "lm2", "tm.fwd", "unknown_word", "glue"],
}


def model_and_line(kind):
    rng = np.random.default_rng(3)
    return SPACES[kind].random_model(rng, language_models=2), SPACES[kind].random_sentence(rng, 4)


@pytest.mark.parametrize(("kind", "way", "name"), [(kind, way, name) for kind, way in WAYS for name in NAMES[kind]])
def test_weights_that_overflow_are_named(kind, way, name):
    model, line = model_and_line(kind)
    assert name in model.feature_names
    translator = Translator.of(model, model.weights.updated({name: 1e308}), **way)
    with pytest.raises(DataError, match=rf"{name} .*1e\+308; expected features and weights whose sum is finite"):
        list(translator.translate([f"{line} f0 f1 f2 f3 f4"]))


@pytest.mark.parametrize(("kind", "way"), WAYS)
@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
@pytest.mark.parametrize("name", ["lm", "tm.bwd", "word_penalty"])
def test_weights_that_are_no_numbers_are_named(kind, way, value, name):
    model, line = model_and_line(kind)
    name = "glue" if kind == "chart" and name == "word_penalty" else name
    translator = Translator.of(model, model.weights.updated({name: value}), **way)
    with pytest.raises(UsageError, match=f"weight of {name} is {value}; expected a finite number"):
        list(translator.translate([line]))


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_no_numbers_are_named(kind, value):
    model, line = model_and_line(kind)

    def of_pairs(pairs):
        return FeatureRows.from_dense(["odd"], np.full((len(pairs.words), 1), value))

    def of_spans(spans):
        return FeatureRows.from_dense(["odd"], np.full((len(spans.begin), 1), value))

    def of_holes(rules):
        classes = np.arange(len(rules)) == len(rules) - 1
        rows = FeatureRows.from_dense(["odd"], np.array([[0.0], [value]]))
        return HoleRows(classes, 2, np.zeros(len(rules.matches), np.int64), rows)

    features = [handmade(PairFeature, of_pairs), handmade(SpanFeature, of_spans, needs_trees=False)]
    what = {"phrase": "the option '.*' → '.*'", "chart": "a rule on '.*'"}[kind]
    for feature in [*features, handmade(HoleFeature, of_holes)] if kind == "chart" else features:
        translator = Translator.of(model, model.weights.updated({"odd": 2.0}), features=[feature])
        with pytest.raises(DataError, match=f"{what} .*scores {value}: odd is {value} and weighs 2; expected"):
            list(translator.translate([line]))


@pytest.mark.parametrize("kind", SPACES)
def test_large_weights_that_can_be_summed_are_taken(kind):
    model, line = model_and_line(kind)
    large = Weights({name: value * 1e60 for name, value in model.weights.items()})
    (found,) = Translator.of(model, large).translate([line])
    assert found.phrases
    assert list(Translator.of(model).translate([""]))
