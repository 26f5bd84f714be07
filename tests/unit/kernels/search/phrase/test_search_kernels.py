"""Beams as wide as the space lose nothing: neither derivations nor arcs of lattices."""

import numpy as np
import pytest

from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space

WIDE = {
    "cube": SearchLimits(pop_limit=10**6),
    "stack": SearchLimits(algorithm="stack", stack_size=10**6),
}


@pytest.mark.parametrize("algorithm", WIDE)
@pytest.mark.parametrize("seed", range(12))
def test_wide_beams_keep_every_derivation(algorithm, seed):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, language_models=int(rng.integers(0, 3)), reordering=bool(rng.integers(2)))
    lines = [phrase_space.random_sentence(rng, 4) for _ in range(3)]
    space = SpaceLimits(reordering_limit=-1)
    every = PhraseTranslator(model, limits=SearchLimits(algorithm="exhaustive"), space=space)
    wide = PhraseTranslator(model, limits=WIDE[algorithm], space=space)
    for expected, found in zip(every.nbest(lines, 3000), wide.nbest(lines, 3000), strict=True):
        assert len(found.scores) == len(expected.scores)
        assert np.allclose(found.scores, expected.scores)


@pytest.mark.parametrize("seed", range(12))
def test_lattices_do_not_change_what_a_narrow_beam_finds(seed):
    rng = np.random.default_rng(100 + seed)
    model = phrase_space.random_model(rng, language_models=int(rng.integers(0, 3)), reordering=bool(rng.integers(2)))
    lines = [phrase_space.random_sentence(rng, 7) for _ in range(3)]
    for limit in (1, 2, 3, 5, 10, 30):
        narrow = PhraseTranslator(model, limits=SearchLimits(pop_limit=limit))
        (alone,), (kept,) = narrow.search_batches(lines), narrow.search_batches(lines, forests=True)
        assert np.array_equal(alone.found.scores, kept.found.scores)
        assert np.array_equal(alone.found.derivations.values, kept.found.derivations.values)
        best = kept.nbest(1)
        assert np.allclose(best.scores, kept.found.scores)


@pytest.mark.parametrize("seed", range(12))
def test_every_limit_finds_a_derivation_and_none_better_than_the_best(seed):
    rng = np.random.default_rng(200 + seed)
    model = phrase_space.random_model(rng, language_models=1, reordering=True)
    lines = [phrase_space.random_sentence(rng, 5) for _ in range(3)]
    space = SpaceLimits(reordering_limit=2)
    (every,) = PhraseTranslator(model, limits=SearchLimits(algorithm="exhaustive"), space=space).search_batches(lines)
    for limit in (1, 2, 4, 10**6):
        (found,) = PhraseTranslator(model, limits=SearchLimits(pop_limit=limit), space=space).search_batches(lines)
        assert not found.found.outcomes.any()
        assert (found.found.scores <= every.found.scores + 1e-9).all()
