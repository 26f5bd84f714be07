"""Simulated annealing of hierarchical derivations finds the best of small spaces."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.features import FEATURES
from dragoman.sampling.chart.chains import run_chains
from dragoman.sampling.sampler import annealed
from dragoman.sampling.schedule import Annealing
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SearchLimits
from oracles import chart_space
from oracles.chart_chains import Case


def narrow(case):
    return ChartTranslator(case.model, case.translator.weights, limits=SearchLimits(pop_limit=1))


@pytest.mark.parametrize("seed", range(25))
def test_translations_are_the_best_and_have_their_features(seed):
    case = Case(1000 + seed, glue=True)
    (part,) = annealed(narrow(case), [case.sentence], Annealing(scans=300, chains=2))
    (found,) = part.translations(features=True)
    assert found.score == pytest.approx(max(case.scores.values()), abs=1e-9)
    weights = case.translator.weights
    assert sum(weights[name] * value for name, value in found.features.items()) == pytest.approx(found.score, abs=1e-9)
    assert found.text in case.space.texts


@pytest.mark.parametrize("seed", range(25))
def test_the_way_to_the_best_derivation_is_found_from_the_worst(seed):
    case = Case(1000 + seed, glue=True, most=200)
    worst = Ragged.of([min(case.scores, key=case.scores.__getitem__)], np.int32)
    cooling = Annealing(scans=300)
    visited = run_chains(case.batch, cooling, seed=1, samples=0, burn_in=cooling.temperatures, starts=worst)
    assert visited.best_scores[0, 0] == pytest.approx(max(case.scores.values()), abs=1e-9)
    assert case.scores[tuple(visited.best[0].tolist())] == pytest.approx(visited.best_scores[0, 0], abs=1e-9)


def test_threads_and_batches_do_not_matter():
    rng = np.random.default_rng(1)
    model = chart_space.random_model(rng, language_models=2)
    lines = ["", *(chart_space.random_sentence(rng, 7) for _ in range(40))]
    found = []
    for threads in (1, 2):
        translator = ChartTranslator(model, limits=SearchLimits(pop_limit=1), runtime=Runtime(threads=threads))
        parts = annealed(translator, lines, Annealing(scans=10), seed=3)
        found.append([(t.source, t.text, t.score, t.phrases) for part in parts for t in part.translations()])
    assert found[0] == found[1]
    assert [row[0] for row in found[0]] == lines


def test_features_of_documents_are_refused():
    model = chart_space.random_model(np.random.default_rng(2)).with_features([FEATURES.get("lexical_consistency")()])
    translator = ChartTranslator(model, model.weights.updated({"lexical_consistency": 1.0}))
    with pytest.raises(UsageError, match="lexical_consistency sees documents"):
        list(annealed(translator, ["f0"]))
