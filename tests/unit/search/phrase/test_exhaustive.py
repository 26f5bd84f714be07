"""Search against enumeration: on random tiny models all ways to find the best derivation must agree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dragoman.core.feature_rows import Weights
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import forest, phrase_space

EVERYTHING = SearchLimits(algorithm="exhaustive")
HUGE_STACKS = SearchLimits(algorithm="stack", stack_size=0)


def enumerated(model, sentence, space):
    choices = phrase_space.options(model, sentence, space.table_limit)
    found = {}
    for derivation in phrase_space.derivations(choices, len(sentence.split()), space.reordering_limit):
        key = tuple((option.begin, option.end, option.words) for option in derivation)
        found[key] = phrase_space.features(model, derivation)
    return found


def listed(graph):
    """All derivations of a lattice: segmentation and words, with score and features."""
    found = {}
    for derivation in forest.derivations(graph):
        steps = []
        totals = {}
        for edge in reversed(derivation.edges):
            words = [int(w) for w in graph.templates[int(graph.template_ids[edge])] if w >= 0]
            if graph.spans[edge, 1] > 0:
                steps.append((*graph.spans[edge].tolist(), tuple(graph.vocab[w] for w in words)))
            for name, value in graph.features.row(edge).items():
                totals[name] = totals.get(name, 0.0) + value
        assert tuple(steps) not in found, "one derivation twice in a lattice"
        found[tuple(steps)] = (derivation.score, totals)
    return found


@pytest.mark.parametrize("seed", range(150))
def test_the_exhaustive_lattice_is_the_whole_space(seed):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(
        rng,
        tables=int(rng.integers(1, 3)),
        language_models=int(rng.integers(0, 3)),
        reordering=bool(rng.random() < 0.7),
    )
    space = SpaceLimits(reordering_limit=int(rng.integers(-1, 5)), table_limit=int(rng.integers(0, 4)))
    sentence = phrase_space.random_sentence(rng, 4)
    expected = enumerated(model, sentence, space)
    graph = PhraseTranslator(model, limits=EVERYTHING, space=space).search(sentence)
    graph.check()
    found = listed(graph)
    assert found.keys() == expected.keys()
    for key, (score, features) in found.items():
        for name, value in expected[key].items():
            assert features.get(name, 0.0) == pytest.approx(value, abs=1e-9), name
        weighted = sum(value * model.weights[name] for name, value in features.items())
        assert score == pytest.approx(weighted, abs=1e-9)


@pytest.mark.parametrize("seed", range(150))
def test_beams_that_never_prune_find_the_best(seed):
    rng = np.random.default_rng(1000 + seed)
    model = phrase_space.random_model(rng, language_models=int(rng.integers(0, 3)))
    limit = int(rng.integers(-1, 4))
    sentence = phrase_space.random_sentence(rng, 5)
    space = SpaceLimits(reordering_limit=limit, table_limit=3)
    exhaustive = PhraseTranslator(model, limits=EVERYTHING, space=space)
    best = max(score for score, _ in listed(exhaustive.search(sentence)).values())
    (found,) = exhaustive.translate([sentence], features=True)
    assert found.score == pytest.approx(best, abs=1e-9)
    assert sum(v * model.weights[n] for n, v in found.features.items()) == pytest.approx(best, abs=1e-9)
    # A beam keeps away from excursions that it could not come back from in one jump; without a limit there are none.
    for limits in (HUGE_STACKS, SearchLimits(pop_limit=100_000)):
        (beam,) = PhraseTranslator(model, limits=limits, space=space).translate([sentence])
        assert beam.score <= best + 1e-9
        if limit < 0 or limit >= len(sentence.split()):
            assert beam.score == pytest.approx(best, abs=1e-9)


def test_reweighted_lattices_score_as_if_searched_again():
    rng = np.random.default_rng(5)
    model = phrase_space.random_model(rng, language_models=2)
    graph = PhraseTranslator(model, limits=EVERYTHING).search("f0 f1 f2")
    other = Weights({name: value * -0.7 + 0.1 for name, value in model.weights.items()})
    again = PhraseTranslator(model, other, limits=EVERYTHING).search("f0 f1 f2")
    scores = {key: score for key, (score, _) in listed(graph.reweighted(other)).items()}
    for key, (score, _) in listed(again).items():
        assert scores[key] == pytest.approx(score, abs=1e-9)
    assert math.isfinite(sum(scores.values()))
