"""Features of holes: what they say of a rule on a span depends on the span's holes and on the class of the rule.

Few classes are enough for what a rule does with its holes, say whether it reorders them, so that the scores of all
rules on all spans are a small table, known before the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.features import HoleRows

if TYPE_CHECKING:
    from dragoman.search.chart.rules import ChartRules

#: A class is kept in a byte.
MOST_CLASSES = 256


def by_class(holes: HoleRows, weights: Weights) -> NDArray[np.float64]:
    """Return the weighted sums of a feature: a row for each match, a column for each class."""
    scores: NDArray[np.float64] = holes.rows.dot(weights).reshape(-1, holes.classes)[holes.kind_of_match]
    return scores


def classes_of_rules(features: Sequence[HoleRows], rules: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Combine the classes of several features to joint classes of rules; only those that occur.

    Returns the class of each rule, and for each class a row with its number for each feature. Without features, all
    rules are in one class.
    """
    joint, rows = np.zeros(rules, np.int64), np.zeros((1, 0), np.int64)
    for holes in features:
        own = holes.class_of_rule
        if len(own) != rules or (rules and not 0 <= int(own.min()) <= int(own.max()) < holes.classes):
            raise UsageError(f"a feature of holes has no class from 0 to {holes.classes - 1} for each of {rules} rules")
        joint = joint * holes.classes + own
        occurs = np.bincount(joint, minlength=1) > 0
        distinct = np.flatnonzero(occurs) if rules else np.zeros(1, np.int64)
        joint = (np.cumsum(occurs) - 1)[joint]
        rows = np.concatenate([rows[distinct // holes.classes], distinct[:, None] % holes.classes], axis=1)
        if len(rows) > MOST_CLASSES:
            raise UsageError(f"features of holes tell {len(rows):,} classes apart; expected at most {MOST_CLASSES}")
    return joint.astype(np.uint8), rows


def hole_symbols(rules: ChartRules) -> NDArray[np.int32]:
    """Return the positions of the holes in each source side; beyond its end if there are none."""
    symbols = np.full((len(rules.first_rule) - 1, 2), np.iinfo(np.int32).max, np.int32)
    side, begin, _, first, end, second, _ = rules.matches.T
    # All matches of a side have them in the same places.
    holed = first >= 0
    symbols[side[holed], 0] = (first - begin)[holed]
    holed = second >= 0
    symbols[side[holed], 1] = (second - begin - (end - first - 1))[holed]
    return symbols


def reordered_holes(rules: ChartRules) -> NDArray[np.bool_]:
    """Tell which rules reorder their holes: holes cross a link, or each other (without links, only the latter)."""
    symbols, parts, first = hole_symbols(rules), [], 0
    for number in [*range(len(rules.grammars)), -1]:
        # Rules stand in the order of their grammars, those that are in none last.
        here = slice(first, first + int(np.count_nonzero(rules.grammar == number)))
        links = rules.grammars[number].alignments if number >= 0 else None
        words = rules.words.offsets[here.start : here.stop + 1]
        parts.append(
            kernels.reordered_holes(
                rules.side[here],
                symbols,
                rules.words.values[words[0] : words[-1]],
                words - words[0],
                rules.row[here] if links is not None else np.full(here.stop - here.start, -1, np.int64),
                links.values if links is not None else np.empty(0, np.uint16),
                links.offsets if links is not None else np.zeros(1, np.int64),
            )
        )
        first = here.stop
    return np.concatenate(parts).astype(bool)
