"""Shares that sum to 1 as functions of coordinates that may be anything, for methods that go downhill in both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

#: Where the shares that sum to 1 are in a vector of weights.
Groups = Sequence[NDArray[np.int64]]

#: The least share of a table.
FLOOR = 1e-3

#: Beyond such coordinates a share is as good as at its bound.
FARTHEST = 12.0

#: No climb begins nearer to a bound: the slope of a softmax vanishes there.
_NEAREST = 0.01


def coordinates(shares: Vector) -> Vector:
    """The θ, around 0, whose softmax gives shares, or others nearby if they are at their bounds.

    >>> shares_of(coordinates(np.array([0.2, 0.3, 0.5]))).round(6).tolist()
    [0.2, 0.3, 0.5]
    """
    free = np.maximum((shares - FLOOR) / (1 - FLOOR * len(shares)), _NEAREST)
    logs = np.log(free / free.sum())
    centred: Vector = logs - logs.mean()
    return centred


def shares_of(theta: Vector) -> Vector:
    """Shares that sum to 1, none below the floor, whatever the coordinates.

    >>> shares_of(np.array([500.0, 0.0])).tolist()
    [0.999, 0.001]
    """
    powers = np.exp(theta - theta.max())
    shares: Vector = FLOOR + (1 - FLOOR * len(theta)) * powers / powers.sum()
    return shares


def from_shares(vector: Vector, groups: Groups) -> Vector:
    """Replace shares by coordinates."""
    place = vector.copy()
    for group in groups:
        place[group] = coordinates(vector[group])
    return place


def to_shares(place: Vector, groups: Groups) -> Vector:
    """Replace coordinates by shares."""
    vector = place.copy()
    for group in groups:
        vector[group] = shares_of(place[group])
    return vector


def to_coordinates(gradient: Vector, vector: Vector, groups: Groups) -> Vector:
    """Turn a gradient by shares into one by coordinates."""
    turned = gradient.copy()
    for group in groups:
        scale = 1 - FLOOR * len(group)
        powers = (vector[group] - FLOOR) / scale
        turned[group] = scale * powers * (gradient[group] - powers @ gradient[group])
    return turned


def dirichlet(shares: Vector, concentration: float) -> tuple[float, Vector]:
    """The logarithm of a Dirichlet prior of shares, but for a constant, and its gradient; 1 is no prior.

    >>> dirichlet(np.array([0.5, 0.5]), 1.0)[0]
    0.0
    """
    if concentration == 1:
        return 0.0, np.zeros_like(shares)
    slopes: Vector = (concentration - 1) / shares
    return (concentration - 1) * float(np.log(shares).sum()), slopes


def bounds_of(size: int, groups: Groups) -> NDArray[np.float64]:
    """The least and the largest value of each of `size` weights, a row each: coordinates have some, the rest none."""
    bounds = np.tile([-np.inf, np.inf], (size, 1))
    for group in groups:
        bounds[group] = [-FARTHEST, FARTHEST]
    return bounds
