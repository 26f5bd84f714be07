"""Forests as evidence, against enumeration of tiny models."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dragoman.core.ragged import Ragged
from dragoman.forest.derivation import yields
from dragoman.forest.kbest import kbest
from dragoman.sampling import sampler, search_forest
from dragoman.sampling.chart.forest import ChartText
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SearchLimits
from oracles.chart_chains import EVERYTHING, Case

SEEDS = range(900, 915)


def exhaustive(case, temperature=1.0, max_size=10**6):
    limits = SearchLimits(algorithm="exhaustive", max_size=max_size)
    return Sampler.of(case.translator, Sampling(temperature=temperature)).forest(case.sentence, limits)


@pytest.mark.parametrize("seed", SEEDS)
def test_exact_numbers(seed):
    case = Case(seed)
    found = exhaustive(case, 1.7)
    if not case.space.derivations:
        assert found is None
        return
    scores = case.space.scores / 1.7
    log_z = np.logaddexp.reduce(scores)
    p = np.exp(scores - log_z)
    assert found.log_partition == pytest.approx(log_z, abs=1e-9)
    assert found.log_size == pytest.approx(np.log(len(scores)), abs=1e-9)
    assert found.entropy == pytest.approx(-(p * (scores - log_z)).sum(), abs=1e-9)
    assert found.expected_features() == pytest.approx(p @ case.space.rows, abs=1e-6)
    assert sorted(case.scores.values()) == pytest.approx(sorted(case.space.scores), abs=1e-9)
    assert found.contains(Ragged.of(list(case.scores), np.int32)).all()


def test_what_is_too_large_is_nothing():
    assert exhaustive(Case(900), max_size=1) is None


def test_features_of_edges_in_parts(monkeypatch):
    case = next(case for case in map(Case, itertools.count(900)) if len(case.scores) > 10)
    found = exhaustive(case)
    whole = found.expected_features()
    monkeypatch.setattr(search_forest, "_EDGES", 5)
    assert found.expected_features() == pytest.approx(whole, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_pruned_forests_contain_their_derivations_only(seed):
    case = Case(seed)
    if not case.scores:
        return
    pruned = Sampler.of(case.translator, Sampling()).forest(case.sentence, SearchLimits(pop_limit=2))
    rows = {tuple(row.tolist()) for row in pruned.best(100_000).derivations}
    inside = pruned.contains(Ragged.of(list(case.scores), np.int32))
    assert [row in rows for row in case.scores] == inside.tolist()


def test_some_forests_are_pruned():
    pruned = 0
    for case in map(Case, SEEDS):
        if case.scores:
            found = Sampler.of(case.translator, Sampling()).forest(case.sentence, SearchLimits(pop_limit=2))
            pruned += not found.contains(Ragged.of(list(case.scores), np.int32)).all()
    assert pruned >= 3


@pytest.mark.parametrize("seed", SEEDS)
def test_derivations_are_spelled_as_their_edges_say(seed):
    case = Case(seed)
    if not case.scores:
        return
    best = case.forest.best(1000)
    spelled = ChartText.of(case.batch, np.zeros(len(best), np.int64), best.derivations)
    words = yields(case.forest.graph, kbest(case.forest.graph, 1000).derivations)
    assert [row.tolist() for row in spelled.words] == [row.tolist() for row in words]
    names = case.model.feature_names
    assert spelled.features().restricted(names).dense() == pytest.approx(
        best.features.restricted(names).dense(), abs=1e-6
    )
    assert np.add.reduceat(spelled.graphs.scores, spelled.graphs.edge_offsets[:-1]) == pytest.approx(
        best.scores, abs=1e-9
    )
    for parts, text in zip(spelled.parts, spelled.words, strict=True):
        assert [word for part in parts.tolist() for word in range(*part[:2])] == list(range(case.length))
        assert [word for part in parts.tolist() for word in range(*part[2:])] == list(range(len(text)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_translations_have_the_sum_of_their_derivations(seed, monkeypatch):
    monkeypatch.setattr(sampler, "_FORCED", 3)
    case = Case(seed)
    if not case.scores:
        return
    texts = case.space.texts
    vocab = case.batch.rules.vocab
    rows = Ragged.of([*([vocab.id(word) for word in text.split()] for text in texts), [0] * 40], np.int32)
    found = Sampler.of(case.translator, Sampling(temperature=0.8)).log_scores(case.sentence, rows)
    expected = [np.logaddexp.reduce(case.space.scores[numbers] / 0.8) for numbers in texts.values()]
    assert found[:-1] == pytest.approx(expected, abs=1e-9)
    assert found[-1] == -np.inf


def test_the_empty_sentence():
    case = Case(900)
    found = Sampler.of(case.translator).forest("", EVERYTHING)
    assert found.log_size == pytest.approx(0, abs=1e-12)
    assert found.contains(Ragged.of([[]], np.int32)).all()
    assert [row.tolist() for row in found.best(5).derivations] == [[]]
