"""Chains of all kinds under weights of any size: safe, and every derivation that they report is one.

Distributions are compared with enumeration in tests/statistical; here the kernels run under the sanitizers, too.
"""

import numpy as np
import pytest

from dragoman.core.feature_rows import Weights
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.features.length_ratio import LengthRatio
from dragoman.sampling.chains import ChainSettings, run_chains
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.phrase.space import PhraseSpace
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.phrase.greedy import hill_climb
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space
from oracles.phrase_case import random_schedule


@pytest.mark.parametrize("seed", range(40))
def test_chains_are_safe_and_report_derivations(seed):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, tables=2, language_models=int(rng.integers(0, 3)))
    size = float(rng.choice([0.0, 1.0, 1e12, 1e90]))
    weights = Weights({name: value * size for name, value in model.weights.items()})
    limit = int(rng.integers(-1, 5))
    space = SpaceLimits(reordering_limit=limit, table_limit=0, unknown_words="drop" if seed % 2 else "copy")
    lines = ["", *(phrase_space.random_sentence(rng, 12) for _ in range(4))]
    batch = PhraseTranslator(model, weights, space=space).batch(lines)
    settings = ChainSettings(
        schedule=random_schedule(rng),
        seed=seed,
        samples=20,
        burn_in=np.full(3, 2.0),
        chains=2,
        temperature=float(rng.choice([0.01, 1.0, 100.0])),
        trace=True,
    )
    space = PhraseSpace(
        batch=batch,
        reordering_limit=limit,
        found=batch.search(SearchLimits(pop_limit=3), limit, lattice=True) if rng.random() < 0.7 else None,
        proposal=batch.reweighted(model.weights) if rng.random() < 0.5 else None,
        functions=GlobalFunctions([LengthRatio()], Weights({"length_ratio": 2.0})) if rng.random() < 0.5 else None,
        documents=np.array([0, 2, 5]) if rng.random() < 0.5 else None,
    )
    visited = run_chains(space, settings, runtime=Runtime(threads=2))
    assert visited.counts.sum() == 20 * 2 * 5
    sentence = np.repeat(np.arange(5), np.diff(visited.sentences))
    for row, derivation in enumerate(visited.derivations):
        starts = [derivation.tolist() if s == sentence[row] else [] for s in range(5)]
        # Refuses what is no derivation, and scores what is.
        climbed = hill_climb(batch, Ragged.of(starts, np.int32), HillClimbing(max_steps=0), reordering_limit=limit)
        assert climbed.start_scores[sentence[row]] == visited.scores[row]
