"""What every feature promises, whoever wrote it: found through the registry, not listed here."""

import numpy as np
import pytest

from dragoman.core.corpus import Vocab
from dragoman.core.errors import UsageError
from dragoman.core.phrases import REORDERING_SCORES
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.features import (
    FEATURES,
    GLOBAL_FEATURES,
    SPARSE_FEATURES,
    BoundaryFeature,
    DocumentFeature,
    HoleFeature,
    OrientationFeature,
    PairFeature,
    SentenceFeature,
    SpanFeature,
    SpansInUse,
)
from dragoman.model.bundle import Model
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.batch import boundary_names
from dragoman.search.phrase.translator import PhraseTranslator
from dragoman.search.translator import Translator
from oracles import chart_space, extra_features, linked_rules, phrase_space, trees as random_trees, word_classes

pytestmark = pytest.mark.filterwarnings("ignore:only .* target phrases occur")

LOCALITIES = (
    PairFeature,
    HoleFeature,
    SpanFeature,
    BoundaryFeature,
    OrientationFeature,
    SentenceFeature,
    DocumentFeature,
)
SPARSE, GLOBAL = SPARSE_FEATURES.names(), GLOBAL_FEATURES.names()
OF_HOLES = [name for name in SPARSE if issubclass(FEATURES.get(name), HoleFeature)]
OF_PHRASES = [name for name in SPARSE if name not in OF_HOLES]

LINES = ["", "f0 f1 f2", "f0", "", "f3 f4 f1 f0", "f2 f2"]
LABELS = [0, 0, 0, 1, 1, 1]


def chart_model(seed):
    rng = np.random.default_rng(seed)
    model = linked_rules.with_random_links(chart_space.random_model(rng, grammars=2), rng)
    return word_classes.with_random_classes(model, rng)


def model_with(name, seed):
    feature = FEATURES.get(name)()
    if isinstance(feature, HoleFeature):
        return chart_model(seed).with_features([feature])
    rng = np.random.default_rng(seed)
    model = extra_features.with_random_links(phrase_space.random_model(rng, tables=2), rng, counts=True)
    tagged = extra_features.random_tagged_text(rng)
    return word_classes.with_random_classes(model, rng).with_features([feature], tagged=tagged)


def options_of(model, lines):
    plain = Model(model.source_vocab, model.target_vocab, model.tables, model.language_models, model.weights)
    return PhraseTranslator(plain).batch(lines).options


@pytest.mark.parametrize("name", FEATURES.names())
def test_a_feature_is_of_one_type_and_is_found_where_commands_look_for_it(name):
    cls = FEATURES.get(name)
    assert sum(issubclass(cls, locality) for locality in LOCALITIES) == 1
    assert cls in [part.get(name) for part in FEATURES.parts if name in part.names()]
    assert sorted([*SPARSE, *GLOBAL]) == FEATURES.names()


@pytest.mark.parametrize("name", FEATURES.names())
def test_a_model_keeps_its_features_and_their_options(name, tmp_path):
    model = model_with(name, 3)
    model.save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    assert [*loaded.features] == [*model.features] == [FEATURES.get(name)()]
    for ours, theirs in zip(model.features.values(), loaded.features.values(), strict=True):
        assert {key: array.tolist() for key, array in ours.items()} == {k: a.tolist() for k, a in theirs.items()}
    with pytest.raises(UsageError, match=f"the model has the feature {name} already"):
        loaded.with_features([FEATURES.get(name)()])


@pytest.mark.parametrize("name", FEATURES.names())
def test_a_search_refuses_what_it_cannot_score_in_a_sentence(name):
    feature = FEATURES.get(name)()
    rng = np.random.default_rng(1)
    phrases = extra_features.with_random_links(phrase_space.random_model(rng), rng, counts=True)
    phrases = word_classes.with_random_classes(phrases, rng)
    of_neighbours = "is about neighbours, and the rules of a hierarchical model have none"
    for model, refused in (
        (phrases, {HoleFeature: "is about the holes of rules, and phrases have none"}),
        (chart_model(1), dict.fromkeys((BoundaryFeature, OrientationFeature), of_neighbours)),
    ):
        refused |= dict.fromkeys((SentenceFeature, DocumentFeature), "no search by dynamic programming can score")
        sentences = [said for locality, said in refused.items() if isinstance(feature, locality)]
        if sentences:
            with pytest.raises(UsageError, match=sentences[0]):
                Translator.of(model, features=[feature])
        elif not isinstance(feature, BoundaryFeature):  # which learns from a text with tags
            assert [*Translator.of(model, features=[feature]).model.features] == [feature]


def test_prefixes_are_told_apart_from_each_other_and_from_dense_features():
    prefixes = [SPARSE_FEATURES.get(name).prefix for name in SPARSE]
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
    (feature,) = model.features_of(FEATURES.get(name))
    if isinstance(feature, SpanFeature):
        trees = [random_trees.parsed(rng, line).tree for line in lines]

        def spans(options, first):
            return SpansInUse(options.sentence, options.begin, options.end, trees[first:])

        rows = feature(spans(together, 0))
        assert _rows(rows) == [row for i, one in enumerate(alone) for row in _rows(feature(spans(one, i)))]
        names = rows.names
    elif isinstance(feature, PairFeature | OrientationFeature):
        rows, single = feature(together), [row for one in alone for row in _rows(feature(one))]
        assert _rows(rows) == single
        names = rows.names
        if isinstance(feature, OrientationFeature):
            names = [f"{feature.prefix}.{name}.{score}" for name in names for score in REORDERING_SCORES]
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
    (feature,) = model.features_of(HoleFeature)
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


@pytest.mark.parametrize("name", SPARSE)
def test_the_same_model_learns_the_same(name):
    one, two = (model_with(name, 7).features for _ in range(2))
    assert list(one) == list(two)
    for ours, theirs in zip(one.values(), two.values(), strict=True):
        assert ours.keys() == theirs.keys()
        for key in ours:
            np.testing.assert_array_equal(ours[key], theirs[key])


def samples_of(name, weight, *, in_model=True, threads=1):
    feature = FEATURES.get(name)()
    model = phrase_space.random_model(np.random.default_rng(4))
    if in_model:
        model = model.with_features([feature])
    space = SpaceLimits(reordering_limit=2, table_limit=0)
    translator = PhraseTranslator(
        model, model.weights.updated({name: weight}), space=space, runtime=Runtime(threads=threads)
    )
    sampler = Sampler.of(translator, Sampling(samples=30, burn_in=3), global_features=[] if in_model else [feature])
    return Samples.concatenate(list(sampler.sample(LINES, documents=LABELS, trace=True)))


@pytest.mark.parametrize("name", GLOBAL)
def test_samples_are_the_same_whatever_the_threads_and_where_the_feature_comes_from(name):
    one, two, by_hand = samples_of(name, 2.0), samples_of(name, 2.0, threads=2), samples_of(name, 2.0, in_model=False)
    for other in (two, by_hand):
        assert one.trace.tobytes() == other.trace.tobytes()
        assert one.scores.tobytes() == other.scores.tobytes()
    assert np.isfinite(one.scores).all()


@pytest.mark.parametrize("name", GLOBAL)
def test_values_are_of_sentences_or_of_documents(name):
    samples = samples_of(name, 0.0)
    if issubclass(FEATURES.get(name), DocumentFeature):
        assert samples.documents.names == (name,)
        assert samples.documents.values.shape == (2, 2, 30, 1)
        assert np.isfinite(samples.documents.values).all()
        assert name not in samples.features.names
    else:
        assert samples.documents is None
        assert name in samples.features.names


@pytest.mark.parametrize("name", GLOBAL)
def test_every_word_has_a_symbol(name):
    vocab = Vocab.of(["house", "é", "(", "日本語", "&quot;"])
    symbols = FEATURES.get(name)().symbols(vocab)
    assert (symbols.dtype, symbols.shape) == (np.dtype(np.int32), (len(vocab),))
