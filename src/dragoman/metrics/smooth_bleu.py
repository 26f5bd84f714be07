"""BLEU of real-valued statistics, such as expected ones, with its gradient: smooth where BLEU has a kink."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The larger, the closer to BLEU: the brevity penalty differs from BLEU's by a factor of at most 2^(1/1000), and that
#: only where hypotheses and references have about the same length.
SHARPNESS = 1000.0


class SmoothBleu(NamedTuple):
    """A score from 0 to 100 and its derivatives."""

    score: float
    by_matches: NDArray[np.float64]
    by_totals: NDArray[np.float64]
    by_hypothesis_length: float
    by_reference_length: float


def smooth_bleu(
    matches: NDArray[np.float64], totals: NDArray[np.float64], hypothesis_length: float, reference_length: float
) -> SmoothBleu:
    """Return 100 · exp(mean over n of log(matches_n / totals_n) + b(1 - reference length / hypothesis length)).

    BLEU has b(z) = min(0, z); here b(z) = -log(1 + exp(-k z)) / k with k = `SHARPNESS`. Where BLEU is 0, so are the
    score and all derivatives.

    >>> round(smooth_bleu(np.array([8.0, 6.0]), np.array([10.0, 8.0]), 10.0, 9.0).score, 6)
    77.459667
    """
    n = len(matches)
    if min(matches.min(), totals.min(), hypothesis_length) <= 0:
        return SmoothBleu(0.0, np.zeros(n), np.zeros(n), 0.0, 0.0)
    shortness = 1 - reference_length / hypothesis_length
    penalty = -np.logaddexp(0, -SHARPNESS * shortness) / SHARPNESS
    # exp of what is added above: the derivative of b without overflow.
    slope = np.exp(-np.logaddexp(0, SHARPNESS * shortness))
    score = 100 * float(np.exp(np.log(matches / totals).mean() + penalty))
    return SmoothBleu(
        score,
        score / n / matches,
        -score / n / totals,
        float(score * slope * reference_length / hypothesis_length**2),
        float(-score * slope / hypothesis_length),
    )
