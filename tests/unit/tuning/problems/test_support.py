"""How well lists know where weights lead."""

from __future__ import annotations

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.metrics.bleu import Bleu
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.problems.support import Support


def problem_of(rows, sentences):
    scorer = Bleu().scorer([Corpus.from_lines(["a b"] * (len(sentences) - 1))])
    return Problem(
        np.array(sentences, np.int64),
        FeatureRows.from_dense(["x", "y"], np.array(rows, float)),
        np.zeros((len(rows), 10)),
        scorer,
        np.zeros((2, 2)),
    )


def test_candidates_of_the_upper_half_are_known():
    # The order by x is 0, 1, 2, 3 in the first sentence; y prefers 2 there, and 4 in the second.
    problem = problem_of([[4, 0], [3, 1], [2, 9], [1, 2], [9, 9], [8, 0], [7, 0], [6, 0]], [0, 4, 8])
    by_x, by_y = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert Support(problem, [by_x], 4).of(by_x) == 1
    assert Support(problem, [by_x], 4).of(by_y) == 0.5
    assert Support(problem, [by_x], 6).of(by_y) == 1  # lists that could have been longer hold all there is
    assert Support(problem, [by_x, by_y], 4).of(by_y) == 1
