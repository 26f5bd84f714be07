"""Lexical consistency by its definition, from the words of a document and of its translation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def lexical_consistency(source: Sequence[Sequence[Hashable]], target: Sequence[Sequence[Hashable]]) -> float:
    """The value for rows of content words."""
    total = 0.0
    for word in {word for row in source for word in row}:
        with_it = {i for i, row in enumerate(source) if word in row}
        if len(with_it) < 2:
            continue
        best = 0.0
        for partner in {partner for row in target for partner in row}:
            there = {i for i, row in enumerate(target) if partner in row}
            best = max(best, 2 * len(with_it & there) / (len(with_it) + len(there)))
        total += len(with_it) * (best - 1)
    return total
