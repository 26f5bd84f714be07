"""Expected gains by a function of somebody else's, a neural metric say: all pairs of a sentence in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.decision.posterior import Posterior

#: How good hypotheses are where references are true: a number for each pair of strings, the higher the better.
Utility = Callable[[list[str], list[str]], Sequence[float] | NDArray[Any]]


def called_gains(utility: Utility, hypotheses: Posterior, evidence: Posterior) -> NDArray[np.float64]:
    """For each hypothesis the expected utility, when the truth is distributed like its sentence's evidence."""
    ours, theirs = hypotheses.corpus.lines(), evidence.corpus.lines()
    expected = np.zeros(len(ours))
    for s in range(len(hypotheses)):
        rows, columns = (slice(*side.sentences[s : s + 2].tolist()) for side in (hypotheses, evidence))
        if not ours[rows]:
            continue
        some, others = ours[rows], theirs[columns]
        pairs = [one for one in some for _ in others], others * len(some)
        found = np.asarray(utility(*pairs), np.float64)
        if found.shape != (len(pairs[0]),):
            raise UsageError(
                f"the metric gave {found.size} numbers for {len(pairs[0])} pairs of sentence {s + 1};"
                " expected one for each"
            )
        if not np.isfinite(found).all():
            raise UsageError(f"the metric gave {found[~np.isfinite(found)][0]:g} for a pair of sentence {s + 1}")
        expected[rows] = found.reshape(len(some), len(others)) @ evidence.probabilities[columns]
    return expected
