"""Simulated annealing finds the best derivation of small spaces."""

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.sampling.phrase.annealing import anneal
from dragoman.sampling.schedule import Annealing
from oracles.phrase_case import Case


@pytest.mark.parametrize("seed", range(40))
def test_the_best_derivation_is_found(seed):
    case = Case(700 + seed)
    lattices = case.batch.search(case.translator.limits, case.limit, lattice=True)
    (found,), scores = anneal(case.batch, reordering_limit=case.limit, lattices=lattices)
    assert scores[0] == pytest.approx(max(case.scores.values()), abs=1e-9)
    assert case.scores[tuple(found.tolist())] == pytest.approx(scores[0], abs=1e-9)


def test_temperatures_fall_by_the_same_factor():
    temperatures = Annealing(scans=3, start_temperature=4.0, end_temperature=1.0).temperatures
    assert temperatures.tolist() == pytest.approx([4.0, 2.0, 1.0])
    with pytest.raises(UsageError, match="end_temperature is 0"):
        Annealing(end_temperature=0.0)


def test_the_best_of_several_chains_counts():
    case = Case(3)
    batch = case.translator.batch([case.sentence] * 3)
    found, scores = anneal(batch, Annealing(chains=4, scans=20), reordering_limit=case.limit)
    assert len(found) == len(scores) == 3
    assert np.allclose(scores, [case.scores[tuple(row.tolist())] for row in found])
