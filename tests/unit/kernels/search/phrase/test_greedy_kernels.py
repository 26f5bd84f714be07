"""Climbs from any rows of options, under weights of any size: refused or right, never a crash.

The values are compared with enumeration in tests/unit/search; here the kernels run under the sanitizers, too.
"""

import contextlib

import numpy as np
import pytest

from dragoman.core.feature_rows import Weights
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.search.limits import HillClimbing, SpaceLimits
from dragoman.search.phrase.greedy import hill_climb, neighbours
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("size", [1.0, 1e12, 1e300])
def test_climbs_are_safe_and_never_lead_down(seed, size):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, tables=2, language_models=int(rng.integers(0, 3)))
    weights = Weights({name: value * size for name, value in model.weights.items()})
    limit = int(rng.integers(-1, 5))
    space = SpaceLimits(reordering_limit=limit, table_limit=0, unknown_words="drop" if seed % 2 else "copy")
    lines = ["", *(phrase_space.random_sentence(rng, 15) for _ in range(5))]
    batch = PhraseTranslator(model, weights, space=space).batch(lines)
    climbed = hill_climb(batch, None, HillClimbing(), reordering_limit=limit, runtime=Runtime(threads=2))
    assert not (climbed.scores < climbed.start_scores).any()
    for sentence, top in enumerate(climbed.derivations):
        _, differences = neighbours(batch, sentence, top, HillClimbing(), reordering_limit=limit)
        if size == 1.0:
            assert differences.max(initial=0.0) <= 2e-9


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_any_options_are_derivations_or_refused(seed):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, language_models=1)
    batch = PhraseTranslator(model).batch([phrase_space.random_sentence(rng, 3)])
    accepted = 0
    for _ in range(200):
        row = rng.integers(-1, len(batch.options) + 1, int(rng.integers(1, 4))).astype(np.int32)
        with contextlib.suppress(ValueError):
            hill_climb(batch, Ragged(row, np.array([0, len(row)])), HillClimbing(), reordering_limit=6)
            spans = [range(batch.options.begin[option], batch.options.end[option]) for option in row]
            words = sorted(word for span in spans for word in span)
            assert words == list(range(batch.options.source.sentences.lengths[0]))
            accepted += 1
    assert accepted
