"""The linear mixture of distributions that makes what was seen most likely, by expectation-maximisation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def likeliest_mixture(
    probabilities: Floats,
    counts: Floats | None = None,
    *,
    iterations: int,
    tolerance: float,
    note: Callable[[int, float, Floats], None] = lambda iteration, likelihood, weights: None,
) -> Floats:
    """Return weights that sum to 1 and maximise the mean logarithm of Σ weight · probability.

    `probabilities` has a row for each distribution and a column for each event, which occurred `counts` times (once by
    default); no column may be all zero. Stops when an iteration raises the mean by less than `tolerance`. `note` is
    told the mean and the weights at the beginning of each iteration. The mean is concave in the weights, so that what
    is found is the best there is.

    >>> probabilities, counts = np.array([[0.5, 0.5], [0.25, 1.0]]), np.array([3.0, 2.0])
    >>> likeliest_mixture(probabilities, counts, iterations=1000, tolerance=1e-12).round(3).tolist()
    [0.8, 0.2]
    """
    shares = None if counts is None else counts / counts.sum()
    weights = np.full(len(probabilities), 1 / len(probabilities))
    last = -np.inf
    for iteration in range(1, iterations + 1):
        mixture = weights @ probabilities
        likelihood = float(np.log(mixture).mean()) if shares is None else float(np.log(mixture) @ shares)
        note(iteration, likelihood, weights)
        if likelihood - last < tolerance:
            break
        last = likelihood
        expected = probabilities / mixture
        weights = weights * (expected.mean(axis=1) if shares is None else expected @ shares)
        weights /= weights.sum()
    return weights
