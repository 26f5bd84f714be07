"""What a chart's translator gives: trees, odd sentences, long ones in linear time, limits, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.translator import Translator
from oracles import chart_space

EVERYTHING = SearchLimits(algorithm="exhaustive")


def model_of(seed, **settings):
    return chart_space.random_model(np.random.default_rng(seed), **settings)


def covered(tree):
    """Source words below a subtree that its own rule covers, and those of its children; target words likewise."""
    inside = [word for child in tree.children for word in range(*child.source)]
    below = [word for child in tree.children for word in range(*child.target)]
    assert len(set(inside)) == len(inside)
    assert len(set(below)) == len(below)
    assert set(inside) <= set(range(*tree.source))
    assert set(below) <= set(range(*tree.target))
    assert [child.source for child in tree.children] == sorted(child.source for child in tree.children)
    if tree.glue:
        assert sorted(inside) == list(range(*tree.source))
        assert below == list(range(*tree.target))
    for child in tree.children:
        covered(child)


def size(tree):
    return (not tree.glue) + sum(size(child) for child in tree.children)


@pytest.mark.parametrize("seed", range(40))
def test_trees_say_what_became_of_which_words(seed):
    rng = np.random.default_rng(seed)
    model = chart_space.random_model(rng, grammars=2, language_models=1)
    (found,) = ChartTranslator(model).translate([chart_space.random_sentence(rng, 12)], features=True)
    words = len(found.source.split())
    assert found.tree.source == (0, words)
    assert found.tree.target == (0, len(found.text.split()))
    covered(found.tree)
    assert size(found.tree) == found.features["rule_penalty"]
    assert len(found.phrases) == found.features["glue"]
    assert [word for phrase in found.phrases for word in range(*phrase.source)] == list(range(words))
    assert len(found.text.split()) == -found.features.get("word_penalty", 0)


def test_empty_lines_have_the_features_of_an_empty_derivation():
    for limits in (SearchLimits(), EVERYTHING):
        for glue in (True, False):
            model = model_of(1, glue=glue)
            found = list(ChartTranslator(model, limits=limits).translate(["", "f0", "", " "], features=True))
            assert [bool(t.text) for t in found] == [False, True, False, False]
            assert found[0].phrases == ()
            expected = chart_space.features(model, chart_space.Derivation((), 0, ()))
            assert {n: v for n, v in found[0].features.items() if v} == {n: v for n, v in expected.items() if v}
    assert ChartTranslator(model_of(1)).force("", "") is not None


def test_long_sentences_take_time_by_their_length():
    model = model_of(4, grammars=2, language_models=2, span_limit=6)
    sentence = np.random.default_rng(0).choice(chart_space.SOURCE, 400).tolist()
    translator = ChartTranslator(model, limits=SearchLimits(pop_limit=20))
    parts = [translator.search_batch([" ".join(sentence[:n])]) for n in (100, 200, 400)]
    pops = [int(part.found.pops[0]) for part in parts]
    # The limit holds for each cell, recombined candidates counted half; a word ends six cells, and one of glue, whose
    # limit is eight times that.
    assert pops[2] <= 400 * (6 + 8) * 2 * 20
    assert pops[2] / pops[1] == pytest.approx(2, abs=0.2)
    assert pops[1] / pops[0] == pytest.approx(2, abs=0.3)
    (found,) = parts[2].translations(features=True)
    assert [word for phrase in found.phrases for word in range(*phrase.source)] == list(range(400))
    assert sum(v * model.weights[n] for n, v in found.features.items()) == pytest.approx(found.score, abs=1e-6)


def test_deep_derivations_are_described():
    # One rule for all: a word and what is to its right, so that the tree is as deep as the sentence is long.
    rows = [("f0 X1", "X1 e0", 0.9), ("f0", "e1", 0.5)]
    model = chart_space.model_of(rows, span_limit=1100, weights={"glue": -9}, links=[[(0, 1)], [(0, 0)]])
    (found,) = ChartTranslator(model).translate([" ".join(["f0"] * 1100)], features=True)
    assert found.features["rule_penalty"] == 1100
    assert found.phrases[0].links == tuple((word, 1099 - word) for word in range(1100))
    depth, (tree,) = 0, found.tree.children
    while tree.children:
        (tree,) = tree.children
        depth += 1
    assert depth == 1099
    assert found.text.split() == ["e1", *["e0"] * 1099]


def test_very_long_sentences_are_described():
    (found,) = ChartTranslator(chart_space.model_of([("f0", "e0", 0.5)])).translate([" ".join(["f4"] * 4000)])
    assert [phrase.source for phrase in found.phrases] == [(word, word + 1) for word in range(4000)]
    assert found.tree.children[-1].source == (3999, 4000)
    assert len(found.described()) > 4000


def test_a_search_that_would_grow_too_large_is_refused():
    model = chart_space.model_of([("X1 X2", "X2 X1", 0.9), ("f0", "e0", 0.5), ("f0", "e1", 0.5)], span_limit=30)
    line = " ".join(["f0"] * 30)
    with pytest.raises(DataError, match=r"needs more than 1,000 items and edges; expected a shorter sentence"):
        ChartTranslator(model, limits=SearchLimits(algorithm="exhaustive", max_size=1000)).search(line)
    with pytest.raises(DataError, match=r"\(30 words\) needs more than 100 items"):
        list(ChartTranslator(model, limits=SearchLimits(max_size=100)).translate(["f0", line]))


def test_models_without_glue_refuse_what_is_longer_than_their_rules():
    model = chart_space.model_of([("f0", "e0", 0.5), ("f0 X1", "X1 e1", 0.5)], span_limit=4, glue=False)
    (found,) = ChartTranslator(model).translate(["f0 f0 f0 f0"])
    assert len(found.phrases) == 1
    with pytest.raises(
        DataError,
        match=r"^the model has no derivation of 'f0 f0 f0 f0 f0' \(5 words\): its rules cover at most 4 words, and it "
        r"has no glue to join them; expected glue = true in its settings$",
    ):
        list(ChartTranslator(model).translate(["f0", "f0 f0 f0 f0 f0"]))


def test_table_limits_by_score_keep_the_best_of_each_side():
    for seed in range(20):
        model = model_of(seed, language_models=1, table_limit=0)
        sentence = "f0 f1 f2 f3"
        every = ChartTranslator(model).batch([sentence])
        few = ChartTranslator(model, space=SpaceLimits(table_limit=2, table_limit_by="score")).batch([sentence])
        sides = {}
        for side, estimate in zip(every.rules.side.tolist(), every.estimates()[0].tolist(), strict=True):
            sides.setdefault(side, []).append(estimate)
        kept = {}
        for side, estimate in zip(few.rules.side.tolist(), few.estimates()[0].tolist(), strict=True):
            kept.setdefault(side, []).append(estimate)
        best = {side: sorted(estimates)[-2:] for side, estimates in sides.items()}
        assert {side: sorted(estimates) for side, estimates in kept.items()} == best


def test_a_search_tries_no_rule_beyond_the_table_limit_by_score():
    cut = 0
    for seed in range(20):
        model = model_of(seed, language_models=1, table_limit=0)
        space = SpaceLimits(table_limit=1, table_limit_by="score")
        translator = ChartTranslator(model, limits=EVERYTHING, space=space)
        searched = translator.search_batch(["f0 f1 f2 f3"], forests=True)
        limited = translator.batch(["f0 f1 f2 f3"])
        expected = limited.search(EVERYTHING, forests=True)
        assert searched.found.scores.tobytes() == expected.scores.tobytes()
        assert searched.found.every.scores.tobytes() == expected.every.scores.tobytes()
        again = searched.batch.reweighted(searched.batch.weights)
        assert again.rules.row.tolist() == limited.rules.row.tolist()
        cut += len(searched.batch.rules) - len(limited.rules)
    assert cut > 0


def test_searches_of_other_kinds_of_models_are_refused():
    model = model_of(1)
    with pytest.raises(UsageError, match="no stack decoding with a hierarchical model; expected cube pruning"):
        Translator.of(model, limits=SearchLimits(algorithm="stack"))
    with pytest.raises(UsageError, match="has no reordering limit"):
        Translator.of(model, space=SpaceLimits(reordering_limit=3))
    with pytest.raises(UsageError, match="hill-climbing changes phrases"):
        Translator.of(model, climbing=HillClimbing())
    searched = ChartTranslator(model).search_batch(["f0"])
    with pytest.raises(UsageError, match="search with forests=True"):
        searched.hypergraph(0)


def test_links_are_those_of_the_rules():
    model = chart_space.model_of(
        [("f0 X1 f1", "e1 X1 e0 e2", 0.5), ("f2", "e3", 0.5)], links=[[(0, 2), (2, 0)], [(0, 0)]]
    )
    # The second of two parts that glue joins.
    (found,) = ChartTranslator(model).translate(["f2 f0 f2 f1"])
    assert found.text == "e3 e1 e3 e0 e2"
    assert [phrase.links for phrase in found.phrases] == [((0, 0),), ((1, 3), (2, 2), (3, 1))]
