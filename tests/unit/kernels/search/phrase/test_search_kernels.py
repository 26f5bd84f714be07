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
