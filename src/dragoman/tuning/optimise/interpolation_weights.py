"""Interpolation weights that sum to 1 as functions of free coordinates, for methods that climb in both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

#: The places of interpolation weights that sum to 1, in a vector of weights.
Groups = Sequence[NDArray[np.int64]]

#: The least interpolation weight of a table.
FLOOR = 1e-3

#: Beyond such coordinates an interpolation weight is as good as at its bound.
FARTHEST = 12.0

#: No climb begins nearer to a bound: the slope of a softmax vanishes there.
_NEAREST = 0.01


def coordinates(weights: Vector) -> Vector:
    """Return the θ, around 0, whose softmax gives interpolation weights, or others nearby if they are at their bounds.

    >>> floored_softmax(coordinates(np.array([0.2, 0.3, 0.5]))).round(6).tolist()
    [0.2, 0.3, 0.5]
    """
    free = np.maximum((weights - FLOOR) / (1 - FLOOR * len(weights)), _NEAREST)
    logs = np.log(free / free.sum())
    centred: Vector = logs - logs.mean()
    return centred


def floored_softmax(theta: Vector) -> Vector:
    """Return weights that sum to 1, none below the floor, whatever the coordinates.

    >>> floored_softmax(np.array([500.0, 0.0])).tolist()
    [0.999, 0.001]
    """
    powers = np.exp(theta - theta.max())
    weights: Vector = FLOOR + (1 - FLOOR * len(theta)) * powers / powers.sum()
    return weights


def to_coordinates(vector: Vector, groups: Groups) -> Vector:
    """Replace interpolation weights by coordinates."""
    place = vector.copy()
    for group in groups:
        place[group] = coordinates(vector[group])
    return place


def from_coordinates(place: Vector, groups: Groups) -> Vector:
    """Replace coordinates by interpolation weights."""
    vector = place.copy()
    for group in groups:
        vector[group] = floored_softmax(place[group])
    return vector


def gradient_by_coordinates(gradient: Vector, vector: Vector, groups: Groups) -> Vector:
    """Turn a gradient by interpolation weights into one by coordinates."""
    turned = gradient.copy()
    for group in groups:
        scale = 1 - FLOOR * len(group)
        powers = (vector[group] - FLOOR) / scale
        turned[group] = scale * powers * (gradient[group] - powers @ gradient[group])
    return turned


def dirichlet(weights: Vector, concentration: float) -> tuple[float, Vector]:
    """Return the logarithm of a Dirichlet prior, up to a constant, and its gradient; 1 is no prior.

    >>> dirichlet(np.array([0.5, 0.5]), 1.0)[0]
    0.0
    """
    if concentration == 1:
        return 0.0, np.zeros_like(weights)
    slopes: Vector = (concentration - 1) / weights
    return (concentration - 1) * float(np.log(weights).sum()), slopes


def bounds_of(size: int, groups: Groups) -> NDArray[np.float64]:
    """Return the least and the largest value of each of `size` weights, a row each: only coordinates are bounded."""
    bounds = np.tile([-np.inf, np.inf], (size, 1))
    for group in groups:
        bounds[group] = [-FARTHEST, FARTHEST]
    return bounds
