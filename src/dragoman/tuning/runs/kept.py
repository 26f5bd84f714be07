"""Which weights a run ends with, of all that it has been through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from dragoman.core.weights import Weights
from dragoman.tuning.problems.ranges import Ranges, changed, is_share
from dragoman.tuning.runs.run import Run

Keep = Literal["best", "last", "average"]


def kept_weights(
    run: Run,
    events: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    sparse: Callable[[Iterable[str]], Ranges],
    sign: int,
    keep: Keep,
) -> Weights:
    """What a run ends with after some events; an iteration measures the weights it begins with."""
    last = len(events)
    if keep == "last":
        return run.weights(last)
    if keep == "average":
        later = [run.weights(i) for i in range(last // 2 + 1, last + 1)]
        found = sparse({name for weights in later for name in weights})
        names = [*names, *found]
        vectors = np.array([weights.vector(names) for weights in later])
        # Only the direction of weights matters, so that all get the same size first; but shares stay as they are.
        weighed = np.array([not is_share(name) for name in names], bool)
        sizes = np.abs(np.where(weighed, vectors, 0.0)).sum(axis=1, keepdims=True)
        mean = np.where(weighed, vectors / sizes, vectors).mean(axis=0)
        return changed(later[-1], names, mean, found)
    best = max(events, key=lambda event: sign * event["score"])
    return run.weights(best["iteration"] - 1)
