"""The scores of pairs and rules of a mixture under given interpolation weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows
from dragoman.core.phrases import Components
from dragoman.model.phrase_table import log_scores
from dragoman.search.translation import pair_feature


def mixed_log_scores(
    components: Components, rows: NDArray[np.int64], interpolation_weights: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return the log scores of some rows of a mixture, exactly as a collapsed table or grammar would have them."""
    return log_scores(components.take(rows).mixed(interpolation_weights).astype(np.float32))


def best_mixed(
    components: Components,
    score_names: Sequence[str],
    groups: tuple[NDArray[np.int64], NDArray[np.int64]],
    interpolation_weights: NDArray[np.float64],
    limit: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of groups, best p(e|f) of the mixture first, and their number per group.

    `groups` are the first row and the number of rows of each; `limit` is the largest number, 0 for no limit.
    """
    row, count = runs(*groups)
    if "fwd" in score_names:
        score = score_names.index("fwd")
        parts = Components(components.names, components.probabilities[row, :, score, None])
        mixed = parts.mixed(interpolation_weights[score : score + 1])[:, 0].astype(np.float32)
        row = row[np.lexsort((-mixed, np.repeat(np.arange(len(count)), count)))]
    best, kept = runs(np.cumsum(count) - count, np.minimum(count, limit) if limit else count)
    return row[best], kept


def runs(first: NDArray[np.int64], count: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of runs that begin at `first`, one run after the other, and the length of each.

    >>> runs(np.array([5, 2]), np.array([2, 3]))[0].tolist()
    [5, 6, 2, 3, 4]
    """
    starts = np.cumsum(count) - count
    return np.arange(count.sum()) + np.repeat(first - starts, count), count


def pair_counts(mark: str, rows: NDArray[np.int64]) -> FeatureRows:
    """Return a feature for each pair or rule of a mixture, 1 on the edges that use it; `rows` has -1 for none."""
    there = rows >= 0
    used, ids = np.unique(rows[there], return_inverse=True)
    offsets = np.concatenate([[0], np.cumsum(there)]).astype(np.int64)
    names = tuple(pair_feature(mark, pair) for pair in used.tolist())
    return FeatureRows(names, offsets, ids.astype(np.int32), np.ones(len(ids)))
