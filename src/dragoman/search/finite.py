"""What is said of scores that are not finite: the name of the feature that makes them so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from dragoman.core.errors import DataError
from dragoman.core.weights import Weights

#: Scores beyond this are overflowing, or were infinite to begin with.
LARGEST_SCORE = 1e100

_EXPECTED = "features and weights whose sum is finite"


def check_weights(weights: Weights, names: Iterable[str]) -> None:
    """Refuse weights that are no numbers, and too large ones of features that are scored between steps, not in them."""
    weights.check_finite()
    for name in names:
        weight = weights.get(name, 0.0)
        if not abs(weight) < LARGEST_SCORE:
            raise DataError(f"{name} has the weight {weight:g}", expected=_EXPECTED)


def score_error(what: str, features: Mapping[str, float], weights: Weights) -> DataError:
    """What to say of a thing with these features, by that which contributes most."""
    products = [(name, value, weights.get(name, 0.0)) for name, value in features.items()]
    with np.errstate(over="ignore", invalid="ignore"):
        name, value, weight = max(products, key=lambda found: _size(found[1] * found[2]))
        score = sum(value * weight for _, value, weight in products)
    return DataError(f"{what} scores {score:g}: {name} is {value:g} and weighs {weight:g}", expected=_EXPECTED)


def _size(score: float) -> float:
    return np.inf if np.isnan(score) else abs(score)
