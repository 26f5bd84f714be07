"""Features of holes: what they say of a rule on a span depends on the span's holes and on the class of the rule.

Few classes are enough for what a rule does with its holes, say whether it reorders them, so that the scores of all
rules on all spans are a small table, known before the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.weights import Weights

#: A class is kept in a byte.
MOST_CLASSES = 256


@dataclass(frozen=True, eq=False)
class HoleRows:
    """A rule of class c on a match of kind k has row `k * classes + c` of `rows`."""

    class_of_rule: NDArray[np.integer]
    classes: int
    kind_of_match: NDArray[np.integer]
    rows: FeatureRows

    def numbers(self, rules: NDArray[np.integer], matches: NDArray[np.integer]) -> NDArray[np.int64]:
        """The rows of rules on matches, -1 where there is no rule."""
        used = (rules >= 0) & (matches >= 0)
        numbers = np.full(len(rules), -1, np.int64)
        numbers[used] = self.kind_of_match[matches[used]] * np.int64(self.classes) + self.class_of_rule[rules[used]]
        return numbers


def by_class(holes: HoleRows, weights: Weights) -> NDArray[np.float64]:
    """The weighted sums of a feature: a row for each match, a column for each class."""
    scores: NDArray[np.float64] = holes.rows.dot(weights).reshape(-1, holes.classes)[holes.kind_of_match]
    return scores


def classes_of_rules(features: Sequence[HoleRows], rules: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Classes of rules that are those of several features at once; only those that a rule has.

    Returns the class of each of so many rules, and for each class a row with its number for each feature. Without
    features, all rules are in one class.
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
