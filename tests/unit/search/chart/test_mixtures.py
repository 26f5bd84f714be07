"""Searches in hierarchical models whose grammars are mixed by weights, against enumeration of the mixed rules."""

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.model.bundle import Model
from dragoman.model.edit import bake, encode, filter_to_text
from dragoman.model.grammar import Grammar
from dragoman.search.limits import SpaceLimits
from dragoman.search.translator import Translator
from dragoman.training.mix import Mixing, mix_models
from oracles.chart_space import random_model, random_sentence


def kept(seed=5):
    rng = np.random.default_rng(seed)
    return mix_models(
        {"in": random_model(rng), "out": random_model(rng)}, Mixing(weights="uniform", keep_components=True)
    )


def shares(model, first):
    """Shares of two grammars, other ones for each score."""
    scores = dict.fromkeys(name.rpartition(".")[0] for name in model.interpolation_weight_names)
    each = {score: (first + i / 10) % 1 for i, score in enumerate(scores)}
    return {f"{s}.{g}": v for s, a in each.items() for g, v in (("in", a), ("out", 1 - a))}


LINES = [random_sentence(np.random.default_rng(i), 5) for i in range(12)]


def rules_of(model):
    """The scores of rules by their sides, as words and numbers of nonterminals."""
    pairs = model.grammars["tm"].to_pairs(model.source_vocab, model.target_vocab)
    sides = [
        [tuple(symbol if symbol < 0 else vocab[symbol] for symbol in side.tolist()) for side in every]
        for vocab, every in ((pairs.source_vocab, pairs.sources), (pairs.target_vocab, pairs.targets))
    ]
    keys = zip(pairs.source_ids.tolist(), pairs.target_ids.tolist(), strict=True)
    return {(sides[0][s], sides[1][t]): row for (s, t), row in zip(keys, pairs.scores, strict=True)}


def test_a_mixture_has_the_rules_of_both_grammars_with_mixed_scores():
    rng = np.random.default_rng(5)
    models = {"in": random_model(rng), "out": random_model(rng)}
    mixed = mix_models(models, Mixing(weights="0.7,0.3"))
    one, two, both = (rules_of(model) for model in (*models.values(), mixed))
    assert both.keys() == one.keys() | two.keys()
    for key, row in both.items():
        parts = [found.get(key, np.zeros(len(row))) for found in (one, two)]
        assert row == pytest.approx(0.7 * parts[0] + 0.3 * parts[1], rel=1e-5)


@pytest.mark.parametrize("limit", [0, 1, 2])
@pytest.mark.parametrize("first", [0.05, 0.5, 0.9])
def test_components_translate_as_a_baked_grammar_does(first, limit):
    model = kept()
    weights = model.weights.updated(shares(model, first))
    space = SpaceLimits(table_limit=limit)
    ours = Translator.of(model, space=space).reweighted(weights)
    theirs = Translator.of(bake(model, weights), space=space)
    for a, b in zip(ours.translate(LINES, features=True), theirs.translate(LINES, features=True), strict=True):
        assert a.score == pytest.approx(b.score)
        assert {name: value for name, value in a.features.items() if name.startswith("tm.")} == pytest.approx(
            {name: value for name, value in b.features.items() if name.startswith("tm.")}
        )


def test_the_same_rules_cannot_have_other_shares():
    model = kept()
    batch = Translator.of(model).batch(LINES[:1])
    assert batch.reweighted(model.weights.updated({"tm.fwd": 3})).weights["tm.fwd"] == 3
    with pytest.raises(UsageError, match="expected the same"):
        batch.reweighted(model.weights.updated(shares(model, 0.3)))


def test_a_mixture_is_saved_filtered_and_checked(tmp_path):
    model = kept()
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert loaded.grammars["tm"].components.names == ("in", "out")
    assert dict(loaded.weights) == dict(model.weights)
    (tmp_path / "text").write_text(f"{LINES[3]}\n", encoding="utf-8")
    small = filter_to_text(loaded, encode(loaded, tmp_path / "text"))
    ours, theirs = (next(Translator.of(each).translate([LINES[3]])) for each in (small, loaded))
    assert ours.score == pytest.approx(theirs.score)
    arrays = model.grammars["tm"].arrays()
    about = model.grammars["tm"].about()
    wrong = Grammar.rebuild(about, {**arrays, "components": -arrays["components"]})
    with pytest.raises(DataError, match="'components' has a negative number"):
        wrong.check(model.source_vocab, model.target_vocab)
    with pytest.raises(DataError, match="components"):
        Grammar.rebuild({**about, "components": ["in"]}, arrays)
