"""Models and features that were made in Python: what no kernel may see is refused before it does."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.features import BoundaryFeature, PairFeature
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space
from oracles.handmade import handmade


@pytest.fixture
def model():
    return phrase_space.random_model(np.random.default_rng(1))


def changed(array, at, value):
    array = array.copy()
    array.reshape(-1)[at] = value
    return array


TABLE_DAMAGE = {
    "log_scores": (lambda t: changed(t.log_scores, 0, np.nan), "'log_scores' holds nan"),
    "target_ids": (lambda t: changed(t.target_ids, 0, 2**30), "'target_ids' holds 1073741824"),
    "first_pair": (lambda t: changed(t.first_pair, 1, -5), "'first_pair' falls from 0 to -5"),
    "index": (lambda t: np.zeros_like(t.index), "'index' has no free slot"),
    "targets": (lambda t: Ragged(changed(t.targets.values, 0, -1), t.targets.offsets), "'targets' holds -1"),
    "sources": (lambda t: Ragged(changed(t.sources.values, 0, 999), t.sources.offsets), "'sources' holds 999"),
}


@pytest.mark.parametrize("name", TABLE_DAMAGE)
def test_tables_that_lead_astray(model, name):
    damage, expected = TABLE_DAMAGE[name]
    ((table_name, table), *_) = model.tables.items()
    other = replace(model, tables={**model.tables, table_name: replace(table, **{name: damage(table)})})
    with pytest.raises(DataError, match=f"the model's {table_name}: the array {expected}"):
        PhraseTranslator(other)
    PhraseTranslator(model)


def test_arrays_of_other_shapes(model):
    ((name, table), *_) = model.tables.items()
    other = replace(model, tables={name: replace(table, log_scores=table.log_scores[:-1])})
    with pytest.raises(DataError, match="'log_scores' is of the wrong type or shape"):
        PhraseTranslator(other)


@pytest.mark.parametrize("name", ["slots", "states", "unigrams"])
def test_language_models_that_lead_astray(model, name):
    ((lm_name, lm), *_) = model.language_models.items()
    damaged = replace(lm, **{name: np.full_like(getattr(lm, name), 2**63 + 7)})
    with pytest.raises(DataError, match=f"the model's {lm_name}: the array '{name}'"):
        PhraseTranslator(replace(model, language_models={**model.language_models, lm_name: damaged}))


def test_what_is_sound_is_read_once(model, monkeypatch):
    table = next(iter(model.tables.values()))
    calls = []
    check = type(table).check
    monkeypatch.setattr(type(table), "check", lambda *arguments: calls.append(1) or check(*arguments))
    for _ in range(3):
        PhraseTranslator(model)
    assert len(calls) == len(model.tables)
    # The same table is another matter where there are fewer words.
    with pytest.raises(DataError, match="'targets' holds "):
        PhraseTranslator(replace(model, target_vocab=type(model.target_vocab).of(["a"])))


@dataclass(frozen=True)
class Ends(BoundaryFeature):
    name = prefix = "ends"
    symbols = ("edge", "a", "b")

    symbol: int

    def __call__(self, options):
        return np.ones(len(options), np.int32), np.full(len(options), self.symbol, np.int32)


def test_symbols_that_there_are_not(model):
    for symbol in (3, -1, 2**31 - 1):
        with pytest.raises(DataError, match=f"'right symbols of ends' holds {symbol}; expected numbers from 0 to 2"):
            list(PhraseTranslator(model, features=[Ends(symbol)]).translate(["f0 f1"]))
    assert list(PhraseTranslator(model, features=[Ends(2)]).translate(["f0 f1"]))


def test_symbols_of_another_shape(model):
    def few(options):
        return np.ones(1, np.int32), np.ones(len(options), np.int64)

    feature = handmade(BoundaryFeature, few, symbols=("edge", "a"))
    with pytest.raises(DataError, match=r"the left symbols of few are \(1,\) of int32; expected one int32 for each of"):
        list(PhraseTranslator(model, features=[feature]).translate(["f0 f1"]))


def test_pair_features_of_another_length(model):
    def none(options):
        return FeatureRows.from_dense(["x"], np.zeros((0, 1)))

    with pytest.raises(DataError, match=r"the feature none has 0 rows for [1-9][0-9]* pairs"):
        list(PhraseTranslator(model, features=[handmade(PairFeature, none)]).translate(["f0 f1"]))


def test_pair_features_that_are_no_numbers(model):
    def wild(options):
        return FeatureRows.from_dense(["x"], np.full((len(options), 1), np.nan))

    weights = model.weights.updated({"x": 1.0})
    with pytest.raises(DataError, match="x is nan and weighs 1"):
        list(PhraseTranslator(model, weights, features=[handmade(PairFeature, wild)]).translate(["f0 f1"]))
