"""Units in which features are measured, so that a step changes scores by about as much through each of them.

Features are of different sizes: hypotheses of a sentence differ by some units of a language model, and by a tenth of
one in how likely phrases are to be swapped. A step along their difference hardly moves the weights of the latter.
Measured in units of the root of their deviation, each weight moves by its feature's difference divided by that
deviation (as AdaGrad would have it, with deviations in place of sums of gradients: Duchi, Hazan & Singer 2011).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows

Vector = NDArray[np.float64]

#: No feature is taken to deviate by less than this share of what all do: hardly anything is known of rare ones.
LEAST_SHARE = 0.1


def squares_within(rows: FeatureRows, names: Sequence[str]) -> Vector:
    """For each name the sum of squared differences to the mean of the rows, and at last how many rows there are.

    >>> squares_within(FeatureRows.from_dense(["lm"], np.array([[1.0], [3.0]])), ["lm", "tm"]).tolist()
    [2.0, 0.0, 2.0]
    """
    dense = rows.restricted(names).dense()
    return np.append(((dense - dense.mean(axis=0)) ** 2).sum(axis=0), len(dense))


def units_of(squares: Iterable[Vector]) -> Vector:
    """Units of features, given what `squares_within` says of some sentences: such that steps are as long as without.

    >>> units_of([np.array([1.0, 1.0, 1.0])]).tolist()
    [1.0, 1.0]
    """
    *sums, rows = np.sum([*squares], axis=0)
    variances = np.array(sums) / max(rows, 1)
    mean = float(variances.mean()) if len(variances) else 0.0
    if mean == 0:
        return np.ones(len(variances))
    shares = np.maximum(np.sqrt(variances / mean), LEAST_SHARE)
    # Squares of units are the shares times a factor, such that variances divided by them have the mean that they had.
    return np.asarray(np.sqrt(shares * float((variances / shares).mean()) / mean))
