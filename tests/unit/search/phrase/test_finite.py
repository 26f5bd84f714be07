"""Scores that are not finite are errors with a name, in every search."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.weights import Weights
from dragoman.features import PairFeature
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space
from oracles.handmade import handmade

WAYS = [
    {},
    {"limits": SearchLimits(algorithm="cube")},
    {"limits": SearchLimits(algorithm="exhaustive")},
    {"climbing": HillClimbing()},
    {"space": SpaceLimits(table_limit=2, table_limit_by="score")},
]


def model_and_line():
    rng = np.random.default_rng(3)
    return phrase_space.random_model(rng, language_models=2), phrase_space.random_sentence(rng, 4)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["word_penalty", "lm2", "distortion", "lr.bwd.mono"])
def test_weights_that_overflow_are_named(way, name):
    model, line = model_and_line()
    assert name in model.feature_names
    translator = PhraseTranslator(model, model.weights.updated({name: 1e308}), **way)
    with pytest.raises(DataError, match=rf"{name} .*1e\+308; expected features and weights whose sum is finite"):
        list(translator.translate([line]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_weights_that_are_no_numbers_are_named(way, value):
    model, line = model_and_line()
    translator = PhraseTranslator(model, model.weights.updated({"lm": value}), **way)
    with pytest.raises(UsageError, match=f"weight of lm is {value}; expected a finite number"):
        list(translator.translate([line]))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_no_numbers_are_named(value):
    model, line = model_and_line()

    def broken(options):
        return FeatureRows.from_dense(["odd"], np.full((len(options), 1), value))

    translator = PhraseTranslator(model, model.weights.updated({"odd": 2.0}), features=[handmade(PairFeature, broken)])
    with pytest.raises(DataError, match=f"scores {value}: odd is {value} and weighs 2; expected"):
        list(translator.translate([line]))


def test_large_weights_that_can_be_summed_are_taken():
    model, line = model_and_line()
    large = Weights({name: value * 1e60 for name, value in model.weights.items()})
    (found,) = PhraseTranslator(model, large).translate([line])
    assert found.phrases
    assert list(PhraseTranslator(model, model.weights).translate([""]))
