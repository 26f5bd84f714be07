"""Documents: lines in a row with the same label, which features of documents see together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError


def document_parts(
    lines: Iterable[str], labels: Iterable[object] | None, size: int, *, together: bool
) -> Iterator[tuple[list[str], NDArray[np.int64]]]:
    """Cut lines into batches of about `size` sentences, each with the bounds of its documents.

    Without features that see documents (`together`), each sentence stands for itself, and lines are taken as they come.
    """
    if not together:
        stream = iter(lines)
        while part := list(itertools.islice(stream, size)):
            yield part, np.arange(len(part) + 1)
        return
    everything = list(lines)
    named = [0] * len(everything) if labels is None else list(labels)
    if len(named) != len(everything):
        raise DataError(f"there are {len(named)} labels of documents for {len(everything)} lines")
    bounds = document_bounds(named)
    first = 0
    while first < len(bounds) - 1:
        last = max(first + 1, int(np.searchsorted(bounds, bounds[first] + size, side="right")) - 1)
        yield everything[bounds[first] : bounds[last]], bounds[first : last + 1] - bounds[first]
        first = last


def document_bounds(labels: Sequence[object]) -> NDArray[np.int64]:
    """Where the documents begin in lines with these labels, and where the last one ends.

    >>> document_bounds(["a", "a", "b", "a"]).tolist()
    [0, 2, 3, 4]
    """
    changes = [i for i in range(1, len(labels)) if labels[i] != labels[i - 1]]
    return np.array([0, *changes, len(labels)] if len(labels) else [0], np.int64)
