"""Probabilities of table files as the logarithms that a model adds up, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The logarithm that stands for probability 0, as in Moses.
LOG_ZERO = -100.0


def log_scores(probabilities: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Natural logarithms, `LOG_ZERO` at least; in single precision, whatever the probabilities are in."""
    with np.errstate(divide="ignore"):
        logs: NDArray[np.float32] = np.maximum(np.log(probabilities), LOG_ZERO).astype(np.float32, copy=False)
    return logs


def probabilities(logs: NDArray[np.float32]) -> NDArray[np.float32]:
    """What `log_scores` was given, in single precision; infinite beyond its range."""
    with np.errstate(over="ignore"):
        return np.where(logs <= LOG_ZERO, np.float32(0), np.exp(logs.astype(np.float64)).astype(np.float32))
