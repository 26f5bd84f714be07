import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.forest.derivation import translation_log_probability
from oracles.forest import RandomHypergraphs, chain, probabilities

CASES = RandomHypergraphs(200, seed=5)


def test_the_probability_of_a_translation_sums_over_its_derivations():
    for graph, listed in CASES:
        totals: dict[tuple[int, ...], float] = {}
        for d, p in zip(listed, probabilities(listed), strict=True):
            totals[d.words] = totals.get(d.words, 0.0) + p
        for words, total in list(totals.items())[:40]:
            assert translation_log_probability(graph, words) == pytest.approx(math.log(total), abs=1e-9)
        for words in itertools.product((3, 4, 5), repeat=3):
            if words not in totals:
                assert translation_log_probability(graph, words) == -math.inf


def test_words_that_no_template_has():
    graph, _ = CASES[0]
    assert translation_log_probability(graph, [10**6]) == -math.inf
    assert translation_log_probability(chain(4), []) == pytest.approx(0.0, abs=1e-12)


def test_no_derivation():
    graph, _ = CASES[0]
    empty = replace(graph, first_edge=np.where(np.arange(graph.nodes + 1) > graph.root + 1, graph.edges, 0))
    with pytest.raises(DataError, match="no derivation"):
        translation_log_probability(empty, [3])
