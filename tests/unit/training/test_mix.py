import itertools
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus, links_of
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.model.bundle import Model
from dragoman.model.edit import bake
from dragoman.model.mixture import components_of, unite_tables
from dragoman.model.parts import Settings, initial_weights
from dragoman.model.phrase_table import PhraseTable
from dragoman.training.mix import (
    Mixing,
    TuningPairs,
    TuningText,
    given_interpolation_weights,
    mix_models,
    perplexity_interpolation_weights,
    perplexity_reordering_weights,
    tuning_pairs,
)
from oracles import chart_space, phrase_space
from oracles.mixtures import mixed, random_tables
from oracles.phrase_pairs import as_dict, phrase_pairs

SCORES = ("bwd", "bwd_lex", "fwd", "fwd_lex")


def model_of(pairs, **settings):
    return Model(
        pairs.source_vocab,
        pairs.target_vocab,
        {"tm": PhraseTable.from_pairs(pairs)},
        {},
        initial_weights({"tm": pairs.score_names}, ["lr"], []),
        Settings(**settings),
    )


def models_of(tables):
    return {name: model_of(table) for name, table in tables.items()}


def cross_entropy(union, pairs, score, shares):
    has, probabilities = components_of(union, pairs)
    return -float(np.log(probabilities[:, :, score] @ shares) @ pairs.counts[has, 2])


@pytest.mark.parametrize(("count", "steps"), [(2, 4000), (3, 200)])
def test_shares_by_perplexity_are_those_of_a_grid(count, steps):
    rng = np.random.default_rng(count)
    tables, (tuning,) = random_tables(rng, count), random_tables(rng, 1, size=25).values()
    union = unite_tables(tables)
    found = perplexity_interpolation_weights(union, tuning)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for score in range(4):
        has, probabilities = components_of(union, tuning)
        grid = np.array([p for p in itertools.product(range(steps + 1), repeat=count - 1) if sum(p) <= steps]) / steps
        grid = np.column_stack([grid, 1 - grid.sum(axis=1)])
        with np.errstate(divide="ignore"):
            entropies = -np.log(np.maximum(grid @ probabilities[:, :, score].T, 0)) @ tuning.counts[has, 2]
        best = grid[np.argmin(entropies)]
        assert cross_entropy(union, tuning, score, found[score]) <= entropies.min() + 1e-9
        np.testing.assert_allclose(found[score], best, atol=1e-3 if count == 2 else 1 / steps)


def test_pairs_of_a_tuning_set_are_counted():
    bitext = Bitext(Corpus.from_lines(["la maison", "la"]), Corpus.from_lines(["the house", "the"]))
    pairs = tuning_pairs(bitext, links_of([[(0, 0), (1, 1)], [(0, 0)]]), 7).pairs
    counts = {key: row[2][2] for key, row in as_dict(pairs).items()}
    assert counts == {("la", "the"): 2, ("maison", "house"): 1, ("la maison", "the house"): 1}


def test_a_table_that_has_nothing_of_the_tuning_set_is_refused():
    some, none = [("la", "the", (1, 1, 1, 1)), ("vol", "theft", (1, 1, 1, 1))], [("vol", "theft", (1, 1, 1, 1))]
    tuning = phrase_pairs([("la", "the", (1, 1, 1, 1))])
    with pytest.raises(DataError, match="the table 'out' has none of the 1 phrase pairs of the tuning set"):
        perplexity_interpolation_weights(unite_tables({"in": phrase_pairs(some), "out": phrase_pairs(none)}), tuning)
    with pytest.raises(DataError, match="in any of the tables"):
        perplexity_interpolation_weights(unite_tables({"in": phrase_pairs(none), "out": phrase_pairs(none)}), tuning)


def test_mixed_models_translate_by_the_mixture():
    tables = random_tables(np.random.default_rng(8), 2)
    found = mix_models(models_of(tables), Mixing(weights="0.6,0.4"))
    expected = mixed(tables, np.array([[0.6, 0.4]] * 4))
    pairs = as_dict(found.tables["tm"].to_pairs(found.source_vocab, found.target_vocab))
    assert pairs.keys() == expected.keys()
    for key, scores in expected.items():
        assert pairs[key][0] == pytest.approx(scores, rel=1e-5)
    assert found.interpolation_weight_names == []
    assert found.history["mixture"]["shares"]["mix.tm.fwd.b"] == 0.4


def test_components_are_kept_on_request_and_baking_them_is_mixing():
    models = models_of(random_tables(np.random.default_rng(9), 3))
    kept = mix_models(models, Mixing(weights="uniform", keep_components=True))
    assert kept.interpolation_weight_names[:3] == ["mix.tm.bwd.a", "mix.tm.bwd.b", "mix.tm.bwd.c"]
    assert set(kept.weights) == set(kept.weight_names)
    other = kept.weights.updated(
        {f"mix.tm.{s}.{t}": v for s in SCORES for t, v in zip("abc", (0.7, 0.2, 0.1), strict=True)}
    )
    one, two = bake(kept, other), mix_models(models, Mixing(weights="0.7,0.2,0.1"))
    pairs = [as_dict(each.tables["tm"].to_pairs(each.source_vocab, each.target_vocab)) for each in (one, two)]
    assert pairs[0].keys() == pairs[1].keys()
    for key, row in pairs[1].items():
        assert pairs[0][key][0] == pytest.approx(row[0], rel=1e-5)
    assert one.interpolation_weight_names == []
    assert dict(one.weights) == dict(two.weights)


@pytest.mark.parametrize("with_text", [True, False])
def test_the_tuning_set_is_aligned_with_a_text_or_with_the_tables_themselves(with_text):
    words = [("la", "the"), ("maison", "house"), ("vol", "flight"), ("une", "a")]
    rows = [(s, t, (0.9, 0.9, 0.9, 0.9)) for s, t in words]
    noise = [(s, t, (0.1, 0.1, 0.1, 0.1)) for s, t in words]
    lines = [(f"{a[0]} {b[0]}", f"{a[1]} {b[1]}") for a, b in itertools.permutations(words, 2)]
    text = Bitext(*(Corpus.from_lines(side) for side in zip(*lines, strict=True)))
    models = {"in": model_of(phrase_pairs(rows)), "out": model_of(phrase_pairs(noise))}
    found = mix_models(
        models, Mixing(keep_components=True), tuning=TuningText(text, beside=text if with_text else None)
    )
    assert found.weights["mix.tm.fwd.in"] == pytest.approx(1, abs=1e-3)
    assert found.weights["mix.tm.fwd.out"] == pytest.approx(0, abs=1e-3)


def test_shares_that_are_given(tmp_path):
    union = unite_tables(random_tables(np.random.default_rng(10), 2))
    np.testing.assert_allclose(
        given_interpolation_weights(Mixing(weights="0.7,0.3"), "tm", union)["tm"], [[0.7, 0.3]] * 4
    )
    np.testing.assert_allclose(
        given_interpolation_weights(Mixing(weights="7,3", normalise=True), "tm", union)["tm"], [[0.7, 0.3]] * 4
    )
    for weights, why in (
        ("7,3", "the shares 7, 3 of mix.tm.bwd sum to 10; expected 1"),
        ("0.5,0.25,0.25", "expected 2 numbers, for a, b"),
        ("perplex", "expected perplexity, uniform, a file, or a number for each table"),
    ):
        with pytest.raises(UsageError, match=why):
            given_interpolation_weights(Mixing(weights=weights), "tm", union)
    file = tmp_path / "shares"
    shares = {f"mix.tm.{score}.{t}": 0.5 for score in SCORES for t in "ab"}
    Weights(shares | {"mix.tm.bwd.a": 0.25, "mix.tm.bwd.b": 0.75, "lm": 1}).write(file)
    assert given_interpolation_weights(Mixing(weights=str(file)), "tm", union)["tm"].tolist() == [
        [0.25, 0.75],
        *[[0.5, 0.5]] * 3,
    ]
    Weights(shares | {"mix.tm.bwd.c": 0.5}).write(file)
    with pytest.raises(DataError, match=r"has a share for mix.tm.bwd.c"):
        given_interpolation_weights(Mixing(weights=str(file)), "tm", union)
    Weights({name: 0.5 for name in shares if name != "mix.tm.fwd.b"}).write(file)
    with pytest.raises(DataError, match=r"has no share for mix.tm.fwd.b"):
        given_interpolation_weights(Mixing(weights=str(file)), "tm", union)


def test_models_that_cannot_be_mixed_are_refused():
    one, two = models_of(random_tables(np.random.default_rng(11), 2)).values()
    german = replace(two, settings=Settings(source_language="de"))
    with pytest.raises(UsageError, match="'in' has source language None, and 'out' has de"):
        mix_models({"in": one, "out": german}, Mixing(weights="uniform"))
    with pytest.raises(UsageError, match="'out' has 2 phrase tables; expected one"):
        mix_models({"in": one, "out": replace(two, tables={**two.tables, "tm2": two.tables["tm"]})}, Mixing())
    with pytest.raises(UsageError, match="need a tuning set"):
        mix_models({"in": one, "out": two}, Mixing())
    kept = mix_models({"in": one, "out": two}, Mixing(weights="uniform", keep_components=True))
    with pytest.raises(UsageError, match="'in' is a mixture with components itself"):
        mix_models({"in": kept, "out": two}, Mixing(weights="uniform"))


def test_shares_of_orientations_are_those_of_the_table_that_explains_the_tuning_set():
    """All pairs of the tuning set are monotone, as the first table has it, and the second does not."""
    tables = {}
    for name, orientations in (("in", [0.9, 0.05, 0.05]), ("out", [0.1, 0.1, 0.8])):
        row = np.array([[*orientations, *orientations]], np.float32)
        tables[name] = replace(phrase_pairs([("la", "the", (0.5,) * 4)]), reordering={"lr": row})
    union = unite_tables(tables, mix_reordering=True)
    tuning = TuningPairs(phrase_pairs([("la", "the", (0.5,) * 4)]), np.array([[9, 0, 0, 4, 0, 6]]))
    found = perplexity_reordering_weights(union, tuning)["lr"]
    assert found[0] == pytest.approx([1, 0], abs=1e-6)
    # The maximum of 4 log(0.9 a + 0.1 (1 - a)) + 6 log(0.05 a + 0.8 (1 - a)).
    grid = np.linspace(0, 1, 100_001)
    best = grid[np.argmax(4 * np.log(0.1 + 0.8 * grid) + 6 * np.log(0.8 - 0.75 * grid))]
    assert found[1, 0] == pytest.approx(best, abs=1e-4)


def test_models_of_two_kinds_are_refused():
    rng = np.random.default_rng(1)
    models = {"in": phrase_space.random_model(rng), "out": chart_space.random_model(rng)}
    with pytest.raises(UsageError, match="'in' has a phrase table, and 'out' has a grammar; expected the same"):
        mix_models(models, Mixing(weights="uniform"))
