"""Searches in models whose tables are mixed by weights."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.model.bundle import Model
from dragoman.model.edit import bake, encode, filter_to_text
from dragoman.search.limits import SpaceLimits
from dragoman.search.translator import Translator
from dragoman.training.mix import Mixing, mix_models
from oracles.phrase_space import random_model, random_sentence

SCORES = ("bwd", "bwd_lex", "fwd", "fwd_lex")


def shares(first):
    """Shares of two tables, other ones for each score."""
    each = [(first + i / 10) % 1 for i in range(4)]
    return {f"mix.tm.{s}.{t}": v for s, a in zip(SCORES, each, strict=True) for t, v in (("in", a), ("out", 1 - a))}


@pytest.fixture
def kept():
    rng = np.random.default_rng(5)
    one, two = random_model(rng), random_model(rng)
    return mix_models({"in": one, "out": two}, Mixing(weights="uniform", keep_components=True))


@pytest.mark.parametrize("limit", [0, 1, 2])
@pytest.mark.parametrize("first", [0.05, 0.5, 0.9])
def test_components_translate_as_a_baked_table_does(kept, first, limit):
    weights = kept.weights.updated(shares(first))
    space, lines = SpaceLimits(table_limit=limit), [random_sentence(np.random.default_rng(i), 5) for i in range(20)]
    ours = Translator.of(kept, space=space).reweighted(weights)
    theirs = Translator.of(bake(kept, weights), space=space)
    for a, b in zip(ours.translate(lines, features=True), theirs.translate(lines, features=True), strict=True):
        assert a.score == pytest.approx(b.score)
        assert {name: value for name, value in a.features.items() if name.startswith("tm.")} == pytest.approx(
            {name: value for name, value in b.features.items() if name.startswith("tm.")}
        )


@pytest.mark.parametrize("first", [0.05, 0.9])
def test_mixed_orientations_translate_as_those_of_a_baked_table_do(first):
    rng = np.random.default_rng(5)
    parts = {"in": random_model(rng), "out": random_model(rng)}
    model = mix_models(parts, Mixing(weights="uniform", keep_components=True, mix_reordering=True))
    (name,) = model.reorderings
    mixed = {
        f"mix.{name}.{d}.{t}": v for d, a in (("bwd", first), ("fwd", 0.4)) for t, v in (("in", a), ("out", 1 - a))
    }
    weights = model.weights.updated(shares(0.3) | mixed)
    lines = [random_sentence(np.random.default_rng(i), 5) for i in range(20)]
    plain = bake(model, weights)
    assert not plain.interpolation_weight_names
    assert not plain.tables["tm"].reordering_components
    ours, theirs = (Translator.of(each, weights).translate(lines, features=True) for each in (model, plain))
    for a, b in zip(ours, theirs, strict=True):
        assert a.score == pytest.approx(b.score)
        assert a.features == pytest.approx(b.features)


def test_other_shares_make_other_features(kept):
    line = random_sentence(np.random.default_rng(1), 5)
    found = [
        next(Translator.of(kept, kept.weights.updated(shares(first))).translate([line], features=True)).features
        for first in (0.05, 0.9)
    ]
    assert found[0]["tm.fwd"] != found[1]["tm.fwd"]


def test_shares_that_do_not_sum_to_one_are_refused(kept):
    wrong = kept.weights.updated({"mix.tm.fwd.in": 0.75})
    with pytest.raises(UsageError, match=r"of mix.tm.fwd sum to 1.25; expected 1"):
        list(Translator.of(kept, wrong).translate(["x"]))
    with pytest.raises(UsageError, match="no weight for mix"):
        list(Translator.of(kept, Weights({"tm.fwd": 1})).translate(["x"]))


def test_the_same_options_cannot_have_other_shares(kept):
    batch = Translator.of(kept).batch(["x"])
    assert batch.reweighted(kept.weights.updated({"tm.fwd": 3})).weights["tm.fwd"] == 3
    with pytest.raises(UsageError, match="expected the same"):
        batch.reweighted(kept.weights.updated(shares(0.3)))


def test_a_mixture_is_saved_filtered_and_weighed_by_name(kept, tmp_path):
    kept.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert loaded.tables["tm"].components.names == ("in", "out")
    weights = tmp_path / "weights"
    kept.weights.updated(shares(0.3)).write(weights)
    assert loaded.read_weights(weights)["mix.tm.bwd.in"] == 0.3
    line = "".join(random_sentence(np.random.default_rng(2), 5))
    (tmp_path / "text").write_text(f"{line}\n", encoding="utf-8")
    small = filter_to_text(loaded, encode(loaded, tmp_path / "text"))
    ours, theirs = (
        list(Translator.of(each, loaded.read_weights(weights)).translate([line], features=True))
        for each in (small, loaded)
    )
    assert ours[0].score == pytest.approx(theirs[0].score)

    kept.weights.updated({"mix.tm.bwd.in": 0.9}).write(weights)
    with pytest.raises(DataError, match=r"of mix.tm.bwd sum to 1.4; expected 1"):
        loaded.read_weights(weights)
    kept.weights.updated({"mix.tm.bwd.third": 0.0}).write(weights)
    with pytest.raises(DataError, match=r"has weights for mix.tm.bwd.third"):
        loaded.read_weights(weights)
    Weights({name: value for name, value in kept.weights.items() if name != "mix.tm.fwd.in"}).write(weights)
    with pytest.raises(DataError, match=r"has no weight for mix.tm.fwd.in"):
        loaded.read_weights(weights)


def test_two_tables_of_which_one_is_a_mixture(kept):
    other = random_model(np.random.default_rng(9))
    both = replace(kept, tables={**kept.tables, "tm2": kept.tables["tm"]})
    assert len(both.interpolation_weight_names) == 16
    plain = replace(kept, tables={**kept.tables, "tm2": replace(kept.tables["tm"], components=None)})
    weights = other.weights.updated(kept.weights).updated({"tm2.fwd": 0.5} | shares(0.4))
    line = random_sentence(np.random.default_rng(1), 5)
    found = next(Translator.of(plain, weights).translate([line], features=True)).features
    assert found["tm.fwd"] != found["tm2.fwd"]
