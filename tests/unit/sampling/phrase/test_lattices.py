"""Lattices as evidence, against enumeration of tiny models."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from dragoman.core.ragged import Ragged
from dragoman.sampling import sampler, search_forest
from dragoman.sampling.phrase.lattices import Lattice
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SearchLimits
from oracles import phrase_space
from oracles.phrase_case import Case

NARROW = SearchLimits(pop_limit=2)


def exhaustive(case, temperature=1.0, max_size=10**6):
    limits = SearchLimits(algorithm="exhaustive", max_size=max_size)
    return Sampler.of(case.translator, Sampling(temperature=temperature)).forest(case.sentence, limits)


def rows_of(ragged):
    return [tuple(row.tolist()) for row in ragged]


@pytest.mark.parametrize("seed", range(12))
def test_exact_numbers(seed):
    case = Case(seed)
    temperature = float(case.rng.uniform(0.3, 3))
    lattice = exhaustive(case, temperature)
    scores = np.array(list(case.scores.values())) / temperature
    log_z = np.logaddexp.reduce(scores)
    p = np.exp(scores - log_z)
    assert lattice.log_partition == pytest.approx(log_z, abs=1e-9)
    assert lattice.log_size == pytest.approx(np.log(len(scores)), abs=1e-9)
    assert lattice.entropy == pytest.approx(-(p * (scores - log_z)).sum(), abs=1e-9)
    features = [phrase_space.features(case.model, derivation) for derivation in case.derivations]
    expected = [sum(p * [row[name] for row in features]) for name in case.model.feature_names]
    assert lattice.expected_features() == pytest.approx(expected, abs=1e-6)
    assert lattice.contains(Ragged.of(list(case.scores), np.int32)).all()


def test_features_of_edges_in_parts(monkeypatch):
    case = Case(3)
    lattice = exhaustive(case)
    whole = lattice.expected_features()
    monkeypatch.setattr(search_forest, "_EDGES", 5)
    assert lattice.expected_features() == pytest.approx(whole, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_pruned_lattices_contain_their_derivations_only(seed):
    case = Case(seed)
    found = case.batch.search(NARROW, case.limit, lattice=True)
    lattice = Lattice.of(case.batch, found, 0.5)
    best = lattice.best(10**5)
    inside = rows_of(best.derivations)
    assert len(inside) == round(np.exp(lattice.log_size))
    assert best.scores == pytest.approx([case.scores[row] / 0.5 for row in inside])
    assert (np.diff(best.scores) <= 1e-12).all()
    every = list(case.scores)
    there = lattice.contains(Ragged.of(every, np.int32))
    assert {row for row, flag in zip(every, there.tolist(), strict=True) if flag} == set(inside)
    # Not only derivations are asked for: beginnings, and what goes on after the end, are in no lattice.
    odd = [row[:-1] for row in every] + [(*row, 0) for row in every]
    assert not lattice.contains(Ragged.of(odd, np.int32)).any()


def test_some_case_prunes():
    found = [Case(seed).batch.search(NARROW, 3, lattice=True) for seed in range(12)]
    sizes = [Lattice.of(Case(seed).batch, one).log_size for seed, one in enumerate(found)]
    assert sum(size < np.log(len(Case(seed).scores)) - 0.1 for seed, size in enumerate(sizes)) >= 4


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_expected_features_of_lists(seed):
    case = Case(seed)
    lattice = exhaustive(case)
    best = lattice.best(4)
    names = case.model.feature_names
    by_row = {case.row(d): phrase_space.features(case.model, d) for d in case.derivations}
    for size in (1, 3):
        rows = rows_of(best.derivations)[:size]
        p = np.exp([case.scores[row] for row in rows] - np.logaddexp.reduce([case.scores[row] for row in rows]))
        expected = [sum(p * [by_row[row][name] for row in rows]) for name in names]
        assert best.expected_features(size, names) == pytest.approx(expected, abs=1e-6)
    whole = lattice.best(10**5)
    assert whole.expected_features(10**6, names) == pytest.approx(lattice.expected_features(), abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_translations_have_the_mass_of_their_derivations(seed, monkeypatch):
    monkeypatch.setattr(sampler, "_FORCED", 3)
    case = Case(seed)
    words = case.batch.options.words
    sums = defaultdict(list)
    for row, score in case.scores.items():
        sums[tuple(np.concatenate([words[option] for option in row]).tolist())].append(score / 0.7)
    texts = list(sums)
    impossible = (*max(texts, key=len), 3)
    texts.insert(1, impossible)
    found = Sampler.of(case.translator, Sampling(temperature=0.7)).log_scores(case.sentence, Ragged.of(texts, np.int32))
    expected = [np.logaddexp.reduce(sums[text]) if text in sums else -np.inf for text in texts]
    assert found == pytest.approx(expected, abs=1e-9)
    assert found[1] == -np.inf


def test_too_large():
    case = Case(1)
    assert exhaustive(case, max_size=1) is None
