"""Structural distortion: what it says of derivations against their definition, and what it learns from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus, links_of
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.features import HoleFeature
from dragoman.features.structural_distortion import StructuralDistortion, log_probabilities
from dragoman.forest.inside_outside import log_partition
from dragoman.forest.kbest import kbest
from dragoman.model.bundle import Model
from dragoman.model.edit import filter_to_text
from dragoman.model.rule_scores import HOLE_SIZES, RuleExtraction, hole_counts
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator
from dragoman.training.rules.extract import aligned_text
from dragoman.training.rules.model import RuleModel, corpus_grammar, grammar
from oracles import chart_space, linked_rules, phrase_space
from oracles.phrase_table import random_bitext
from oracles.rule_table import is_reordered
from oracles.tiny_grammar import SOURCE, tiny_model

FINE, COARSE = StructuralDistortion(grain="fine"), StructuralDistortion(grain="coarse")
NAMES = [f"sd.{order}.{size}" for order in ("monotone", "reordered") for size in ["any", *range(1, 10), "10+"]]
EVERYTHING = SearchLimits(algorithm="exhaustive")


def with_counts(model, rng):
    """The model with random numbers of reordered nonterminals."""
    grammars = {
        name: replace(rules, hole_counts=rng.integers(0, 9, (2, HOLE_SIZES)).astype(float))
        for name, rules in model.grammars.items()
    }
    return replace(model, grammars=grammars)


def definition(model, coarse=None):
    """The features of a rule with its holes, by their definition."""
    sides = [linked_rules.sides(rules) for rules in model.grammars.values()]
    links = [rules.alignments for rules in model.grammars.values()]

    def values(rule, holes):
        found = {}
        for number, (begin, end) in enumerate(holes):
            source, target = ([-1 - s if s < 0 else str(s) for s in side] for side in sides[rule.grammar][rule.row])
            points = [divmod(link, 256) for link in links[rule.grammar][rule.row].tolist()]
            reordered = is_reordered(source, target, points, number)
            size = min(end - begin, HOLE_SIZES)
            if coarse is not None:
                found["sd.log_p"] = found.get("sd.log_p", 0.0) + coarse[int(reordered), size - 1]
                continue
            for shown in ("any", "10+" if size == HOLE_SIZES else size):
                name = f"sd.{('monotone', 'reordered')[reordered]}.{shown}"
                found[name] = found.get(name, 0.0) + 1
        return found

    return values


def enumerated(seed, feature, **settings):
    """A space with the feature, all its derivations scored by definition, and the names of its values."""
    rng = np.random.default_rng(seed)
    plain = chart_space.random_space(rng, glue=True, **settings)
    linked = with_counts(linked_rules.with_random_links(plain.model, rng), rng)
    model = linked.with_features([feature])
    names = NAMES if feature.grain == "fine" else ["sd.log_p"]
    added = dict(zip(names, rng.normal(0, 1, len(names)).tolist(), strict=True))
    coarse = None
    if feature.grain == "coarse":
        coarse = log_probabilities(np.sum([rules.hole_counts for rules in linked.grammars.values()], axis=0))
    # Else what is unknown would decide everything.
    weights = model.weights.updated({"unknown_word": 0.01})
    space = replace(plain, scores=plain.rows @ weights.vector(model.feature_names), model=model)
    return (
        space.with_features(added, definition(linked, coarse)),
        weights.updated(added),
        [*model.feature_names, *added],
    )


def assert_rows(hypotheses, expected, names, weights):
    """Scores and features are those that were enumerated, in any order."""
    rows = hypotheses.features.restricted(names).dense()
    assert set(hypotheses.features.names) <= set(names)
    found = np.column_stack([hypotheses.scores, rows])
    order = [np.lexsort(np.round(table, 7).T[::-1]) for table in (found, expected)]
    np.testing.assert_allclose(found[order[0]], expected[order[1]], rtol=0, atol=1e-8)
    np.testing.assert_allclose(hypotheses.features.dot(weights), hypotheses.scores, rtol=0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("feature", [FINE, COARSE], ids=["fine", "coarse"])
@pytest.mark.parametrize("first", [0, 10])
def test_all_that_a_search_says_holds_of_all_derivations(first, feature):
    fired = 0
    for seed in range(first, first + 10):
        space, weights, names = enumerated(seed, feature, most=100)
        everything = np.column_stack([space.scores, space.rows])
        fired += int(np.any(space.rows[:, len(space.model.feature_names) :]))
        for algorithm in ("exhaustive", "cube", "incremental"):
            limits = SearchLimits(algorithm=algorithm, pop_limit=1_000_000)
            translator = Translator.of(space.model, weights, limits=limits)
            graph = translator.search(space.sentence)
            assert log_partition(graph) == pytest.approx(np.logaddexp.reduce(space.scores), abs=1e-9)
            (lists,) = translator.nbest([space.sentence], len(space.scores) + 1)
            assert_rows(lists, everything, names, weights)
            (found,) = translator.translate([space.sentence], features=True)
            assert found.score == pytest.approx(space.scores.max(), abs=1e-9)
            assert found.score == pytest.approx(sum(weights[n] * v for n, v in found.features.items()), abs=1e-9)
        for text, numbers in [*space.texts.items()][:4]:
            forced = Translator.of(space.model, weights, limits=EVERYTHING).force(space.sentence, text)
            np.testing.assert_allclose(
                kbest(forced, len(numbers) + 1).scores, np.sort(space.scores[numbers])[::-1], rtol=0, atol=1e-9
            )
    assert fired >= 5


@pytest.mark.parametrize("feature", [FINE, COARSE], ids=["fine", "coarse"])
def test_samples_have_the_feature(feature):
    for seed in range(4):
        space, weights, names = enumerated(seed, feature)
        translator = Translator.of(space.model, weights)
        options = Sampling(samples=50, chains=2, burn_in=5, initial="gloss")
        (samples,) = Sampler.of(translator, options).sample([space.sentence], seed=1)
        assert set(samples.features.names) <= set(names)
        np.testing.assert_allclose(samples.features.dot(weights), samples.scores, rtol=0, atol=1e-8)
        enumerated_rows = {tuple(row) for row in np.round(space.rows, 6).tolist()}
        assert {
            tuple(row) for row in np.round(samples.features.restricted(names).dense(), 6).tolist()
        } <= enumerated_rows


def test_probabilities_lean_on_all_sizes_where_there_are_few():
    counts = np.zeros((2, HOLE_SIZES))
    counts[:, 1] = 90, 10
    p = np.exp(log_probabilities(counts))
    np.testing.assert_allclose(p.sum(axis=0), 1)
    over_all = np.array([90.5, 10.5]) / 101
    np.testing.assert_allclose(p[:, 0], over_all)
    np.testing.assert_allclose(p[:, 1], (counts[:, 1] + over_all) / 101)
    assert np.isfinite(log_probabilities(np.zeros((2, HOLE_SIZES)))).all()


def trained(rng):
    bitext, links, _ = random_bitext(rng, 60, words=5, longest=7, links=0.9)
    vocabs = bitext.source.vocab, bitext.target.vocab
    made = {
        "table": {"tm": grammar(bitext, links, RuleModel(reordering_sentences=40))},
        "demand": {"tm": corpus_grammar(bitext, links)},
    }
    models = {name: Model(*vocabs, {}, {}, Weights(), grammars=grammars) for name, grammars in made.items()}
    return models, aligned_text(bitext, links)


def test_counts_come_from_training_from_the_text_of_a_grammar_or_from_one_that_is_given():
    models, text = trained(np.random.default_rng(3))
    feature = replace(COARSE, sentences=40)
    expected = log_probabilities(hole_counts(text, RuleExtraction(), sentences=40)).ravel()
    for model in models.values():
        (learnt,) = model.with_features([feature]).sparse_features.values()
        np.testing.assert_allclose(learnt["log_p"], expected, rtol=1e-12)
    bare = replace(models["table"].grammars["tm"], hole_counts=None)
    imported = replace(models["table"], grammars={"tm": bare})
    assert imported.with_features([FINE]).features_of(HoleFeature)
    with pytest.raises(UsageError, match="this model does not; expected a parallel text with links: `source=`"):
        imported.with_features([feature])
    (learnt,) = imported.with_features([feature], aligned=text).sparse_features.values()
    np.testing.assert_allclose(learnt["log_p"], expected, rtol=1e-12)


def test_counts_are_kept_with_the_model(tmp_path):
    models, _ = trained(np.random.default_rng(4))
    model = models["table"]
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.grammars["tm"].hole_counts, model.grammars["tm"].hole_counts)
    small = filter_to_text(
        loaded, Corpus(model.source_vocab, Corpus.from_lines(["s1 s2"], model.source_vocab).sentences)
    )
    np.testing.assert_array_equal(small.grammars["tm"].hole_counts, model.grammars["tm"].hole_counts)
    for wrong in (np.full((2, HOLE_SIZES), -1.0), np.full((2, HOLE_SIZES), np.nan)):
        damaged = replace(model, grammars={"tm": replace(model.grammars["tm"], hole_counts=wrong)})
        with pytest.raises(DataError, match="the array 'hole_counts' holds"):
            damaged.check_parts()


def test_what_cannot_be():
    with pytest.raises(UsageError, match="structural-distortion is about the holes of rules, and phrases have none"):
        phrase_space.random_model(np.random.default_rng(1)).with_features([FINE])
    with pytest.raises(UsageError, match="structural-distortion needs word links, which the grammar 'tm' has not"):
        chart_space.random_model(np.random.default_rng(1)).with_features([FINE])
    models, _ = trained(np.random.default_rng(5))
    model = models["table"].with_features([COARSE])
    for wrong in ({}, {"log_p": np.zeros(3)}, {"log_p": np.full(2 * HOLE_SIZES, -np.inf)}):
        with pytest.raises(DataError, match="structural-distortion of the model: the array 'log_p' is missing"):
            _ = replace(model, features={COARSE: wrong}).features_of(HoleFeature)


def test_a_swap_is_known_by_the_order_of_nonterminals_and_by_links():
    bitext = Bitext(Corpus.from_lines(["a b"]), Corpus.from_lines(["x y"]))
    text = aligned_text(bitext, links_of([[(0, 1), (1, 0)]]))
    found = hole_counts(text, RuleExtraction(min_hole_source=1))
    assert (found[0].sum(), found[1, 0] > 0) == (0, True)


@pytest.mark.parametrize("grain", ["fine", "coarse"])
def test_parts_that_glue_joins_are_monotone_if_asked(grain):
    rng = np.random.default_rng(4)
    model = with_counts(tiny_model(), rng)
    (counts,) = (rules.hole_counts for rules in model.grammars.values())
    without, joined = (
        [*Translator.of(model.with_features([feature])).translate([*SOURCE, ""], features=True)]
        for feature in (StructuralDistortion(grain=grain), StructuralDistortion(grain=grain, glue=True))
    )
    assert any(len(one.phrases) > 1 for one in joined)
    for one, other in zip(without, joined, strict=True):
        assert one.phrases == other.phrases
        expected = {name: value for name, value in one.features.items() if name.startswith("sd.")}
        for phrase in one.phrases:
            size = phrase.source[1] - phrase.source[0]
            names = ["sd.monotone.any", f"sd.monotone.{size}"] if grain == "fine" else ["sd.log_p"]
            value = 1.0 if grain == "fine" else float(log_probabilities(counts)[0, size - 1])
            for name in names:
                expected[name] = expected.get(name, 0.0) + value
        found = {name: value for name, value in other.features.items() if name.startswith("sd.")}
        assert found == pytest.approx(expected)
