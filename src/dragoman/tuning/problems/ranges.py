"""Which weights are tuned, where they usually lie (the boxes of random starts, after Schuth 2010, table 7.1), and how
new ones take their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.weights import Weights
from dragoman.model.mixture import SHARES
from dragoman.model.parts import GRAMMAR_PENALTY

#: The least and the largest weight of a random start, by name.
Ranges = Mapping[str, tuple[float, float]]

#: Features whose weight is never tuned, because every translation of a sentence has the same value.
FIXED = ("unknown_word",)

# Logarithms of probabilities, where more is better; under our names and under those of Moses' lists.
_OURS = ("distortion", "lm", "tm", "phrases", "lr", "mix", "logprob")
_THEIRS = ("Distortion", "LM", "TranslationModel", "LexicalReordering")
_BY_STEM = dict.fromkeys((*_OURS, *_THEIRS), (0.0, 1.0))
_OTHER = (-1.0, 1.0)


def tuned_names(names: Sequence[str]) -> list[str]:
    """The features whose weights are chosen."""
    return [name for name in names if name not in FIXED]


def is_share(name: str) -> bool:
    """Whether a weight is a table's share of a mixture: such ones sum to 1, and are never scaled.

    >>> is_share("mix.tm.fwd.in"), is_share("tm.fwd")
    (True, False)
    """
    return name.startswith(SHARES)


def is_weight(names: Sequence[str]) -> NDArray[np.bool_]:
    """Which of some names are of weights, and not of shares of a mixture."""
    return np.array([not is_share(name) for name in names], bool)


def weight_ranges(names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The least and the largest weight that a random start gives each feature.

    >>> weight_ranges(["lm2", "word_penalty", "tm2.penalty"])
    {'lm2': (0.0, 1.0), 'word_penalty': (-1.0, 1.0), 'tm2.penalty': (-1.0, 1.0)}
    """
    return {name: _range(name) for name in names}


def _range(name: str) -> tuple[float, float]:
    stem, _, rest = name.partition(".")
    return _OTHER if rest == GRAMMAR_PENALTY else _BY_STEM.get(stem.rstrip("0123456789"), _OTHER)


def boxes(names: Sequence[str], ranges: Ranges) -> NDArray[np.float64]:
    """The ranges of some names as rows, as problems have them."""
    return np.array([ranges[name] for name in names], np.float64).reshape(-1, 2)


def no_sparse(names: Iterable[str]) -> Ranges:
    """What is tuned of features that nobody knew beforehand, if there are none."""
    return {}


def changed(weights: Weights, names: Sequence[str], values: NDArray[np.float64], sparse: Ranges) -> Weights:
    """The weights with new values; sparse ones come last, in order, and only those that are not 0."""
    new = weights.updated(dict(zip(names, values.tolist(), strict=True)))
    return Weights(
        {name: value for name, value in new.items() if name not in sparse}
        | {name: new[name] for name in sparse if new[name]}
    )
