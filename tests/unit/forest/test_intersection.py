from dataclasses import replace

import numpy as np

from dragoman.forest.derivation import translation_log_probability
from dragoman.forest.inside_outside import log_partition
from dragoman.forest.operations import intersection
from oracles.forest import RandomHypergraphs, derivations

CASES = RandomHypergraphs(60, seed=21)


def described(graph, listed):
    rows = graph.features.dense()
    return sorted((round(d.score, 9), tuple(rows[list(d.edges)].sum(axis=0))) for d in listed)


def test_it_has_the_derivations_of_the_string_and_no_others():
    for graph, listed in CASES:
        for words in {d.words for d in listed}:
            part = intersection(graph, words)
            part.check()
            found = derivations(part)
            assert {d.words for d in found} == {words}
            assert described(part, found) == described(graph, [d for d in listed if d.words == words])


def test_its_mass_is_the_probability_of_the_string():
    for graph, listed in CASES[:20]:
        part = intersection(graph, listed[0].words)
        expected = translation_log_probability(graph, listed[0].words)
        np.testing.assert_allclose(log_partition(part) - log_partition(graph), expected, rtol=1e-12, atol=1e-12)


def test_strings_that_are_not_there():
    for graph, listed in CASES:
        known = {d.words for d in listed}
        for words in [(3,) * 60, (0,), (), (3, 4), (5, 5, 3)]:
            if words not in known:
                assert intersection(graph, words) is None
    assert intersection(replace(CASES[0][0], features=None), CASES[0][1][0].words).features is None
