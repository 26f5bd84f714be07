"""What every extra feature promises, whoever wrote it: found through the registry, not listed here."""

import numpy as np
import pytest

from dragoman.model.bundle import Model
from dragoman.model.extra_features import EXTRA_FEATURES
from dragoman.model.extra_features.feature import PairFeature, SpanFeature, SpansInUse
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.phrase.batch import boundary_names
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import chart_space, extra_features, linked_rules, phrase_space, trees as random_trees

pytestmark = pytest.mark.filterwarnings("ignore:only .* target phrases occur")

NAMES = EXTRA_FEATURES.names()
OF_HOLES = [name for name in NAMES if EXTRA_FEATURES.get(name).of_holes]
OF_PHRASES = [name for name in NAMES if name not in OF_HOLES]


def model_with(name, seed):
    rng = np.random.default_rng(seed)
    feature = EXTRA_FEATURES.get(name)()
    if feature.of_holes:
        return linked_rules.with_random_links(chart_space.random_model(rng, grammars=2), rng).with_features([feature])
    model = extra_features.with_random_links(phrase_space.random_model(rng, tables=2), rng, counts=True)
    return model.with_features([feature], tagged=extra_features.random_tagged_text(rng))


def options_of(model, lines):
    plain = Model(model.source_vocab, model.target_vocab, model.tables, model.language_models, model.weights)
    return PhraseTranslator(plain).batch(lines).options


def test_prefixes_are_told_apart_from_each_other_and_from_dense_features():
    prefixes = [EXTRA_FEATURES.get(name).prefix for name in NAMES]
    assert len(set(prefixes)) == len(prefixes)
    dense = {name.split(".")[0].rstrip("0123456789") for name in model_with("phrase-length", 1).feature_names}
    assert not dense & set(prefixes)
    assert all(prefix.isalnum() for prefix in prefixes)


@pytest.mark.parametrize("name", OF_PHRASES)
@pytest.mark.parametrize("seed", range(5))
def test_values_are_named_after_the_feature_and_do_not_depend_on_the_batch(name, seed):
    model = model_with(name, seed)
    rng = np.random.default_rng(seed)
    lines = [*(phrase_space.random_sentence(rng, 5) for _ in range(4)), ""]
    together, alone = options_of(model, lines), [options_of(model, [line]) for line in lines]
    (feature,) = model._ready.values()
    if isinstance(feature, SpanFeature):
        trees = [random_trees.parsed(rng, line).tree for line in lines]

        def spans(options, first):
            return SpansInUse(options.sentence, options.begin, options.end, trees[first:])

        rows = feature(spans(together, 0))
        assert _rows(rows) == [row for i, one in enumerate(alone) for row in _rows(feature(spans(one, i)))]
        names = rows.names
    elif isinstance(feature, PairFeature):
        rows, single = feature(together), [row for one in alone for row in _rows(feature(one))]
        assert _rows(rows) == single
        names = rows.names
    else:
        expected = [np.concatenate(side) for side in zip(*(feature(one) for one in alone), strict=True)]
        for found, side in zip(feature(together), expected, strict=True):
            np.testing.assert_array_equal(found, side)
            assert side.dtype == np.int32
            assert 1 <= side.min() <= side.max() < len(feature.symbols)
        names = boundary_names(feature)
    assert all(value.startswith(model.sparse_prefixes) for value in names)
    assert all(model._can_have(value) for value in names)


@pytest.mark.parametrize("name", OF_HOLES)
@pytest.mark.parametrize("seed", range(5))
def test_what_is_said_of_holes_is_named_after_the_feature_and_does_not_depend_on_the_batch(name, seed):
    model = model_with(name, seed)
    rng = np.random.default_rng(seed)
    lines = [*(chart_space.random_sentence(rng, 5) for _ in range(4)), ""]
    (feature,) = model.hole_features
    translator = ChartTranslator(model)

    def said(batch):
        rules, holes = batch.rules, feature(batch.rules)
        assert all(value.startswith(model.sparse_prefixes) for value in holes.rows.names)
        assert all(model.can_weigh(value) for value in holes.rows.names)
        found = []
        for match, (side, *_) in enumerate(rules.matches.tolist()):
            used = np.arange(*rules.first_rule[side : side + 2])
            numbers = holes.numbers(used, np.full(len(used), match))
            found.append([holes.rows.row(number) for number in numbers.tolist()])
        return found

    assert said(translator.batch(lines)) == [row for line in lines for row in said(translator.batch([line]))]


def _rows(rows):
    return [rows.row(i) for i in range(len(rows))]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_model_learns_the_same(name):
    one, two = (model_with(name, 7).extra_features for _ in range(2))
    assert list(one) == list(two)
    for ours, theirs in zip(one.values(), two.values(), strict=True):
        assert ours.keys() == theirs.keys()
        for key in ours:
            np.testing.assert_array_equal(ours[key], theirs[key])


@pytest.mark.parametrize("name", NAMES)
def test_features_of_spans_say_that_they_look_at_trees(name):
    (feature,) = model_with(name, 1)._ready.values()
    assert EXTRA_FEATURES.get(name).of_trees == isinstance(feature, SpanFeature)
