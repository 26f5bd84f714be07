"""Pairs of candidates as examples for a classifier: the difference of their features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.tuning.problems.problem import Problem


def feature_matrix(problem: Problem) -> Any:
    """Return a sparse matrix (scipy CSR) with the features of each candidate."""
    from scipy.sparse import csr_matrix

    features = problem.features
    shape = (len(features), len(features.names))
    return csr_matrix((features.values, features.ids, features.offsets), shape=shape)


def differences(problem: Problem, better: NDArray[np.int64], worse: NDArray[np.int64]) -> Any:
    """Return a sparse matrix (scipy CSR) with a row h(better) - h(worse) for each pair."""
    matrix = feature_matrix(problem)
    result = matrix[better] - matrix[worse]
    result.sum_duplicates()
    return result
