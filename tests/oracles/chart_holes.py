"""Two features of holes, by classes of rules and kinds of matches, and by their definitions on one rule."""

from __future__ import annotations

import numpy as np

from dragoman.core.feature_rows import FeatureRows
from dragoman.features import HoleFeature, HoleRows
from dragoman.search.chart.rules import ChartRules
from oracles.chart_space import Rule, Span

#: What the values of both are called.
HOLE_NAMES = ("opened.0", "opened.1", "opened.2", "opened.3", "wide")


def values_of_holes(rule: Rule, holes: tuple[Span, ...]) -> dict[str, float]:
    """The sizes of holes by how the target side begins and ends; words of the rule times that of the last hole."""
    if not holes:
        return {}
    words = sum(isinstance(symbol, str) for symbol in rule.target)
    begin, end = (isinstance(rule.target[i], int) for i in (0, -1))
    first, last = (end - begin for begin, end in (holes[0], holes[-1]))
    return {f"opened.{begin + 2 * end}": min(first, 3) + 0.5, "wide": float(min(words, 2) * last)}


class OpenedHoles(HoleFeature):
    """Rules by whether their target side begins and ends with a hole, and the size of the first, up to three."""

    name = prefix = "opened"

    def __call__(self, rules: ChartRules, /) -> HoleRows:
        """Four classes, and the size of the first hole, up to three."""
        edges = np.stack([rules.words.offsets[:-1], np.maximum(rules.words.offsets[1:] - 1, 0)])
        holes = np.append(rules.words.values, 0)[edges] < 0
        size = np.minimum(rules.matches[:, 4] - rules.matches[:, 3], 3)
        rows = [[(k > 0) * (k + 0.5) * (c == column) for column in range(4)] for k in range(4) for c in range(4)]
        return HoleRows(holes[0] + 2 * holes[1], 4, size, FeatureRows.from_dense(HOLE_NAMES[:4], np.array(rows)))


class WideHoles(HoleFeature):
    """Words of a rule, up to two, times the size of its last hole."""

    name = prefix = "wide"

    def __call__(self, rules: ChartRules, /) -> HoleRows:
        """Rules by their words, and the size of the last hole."""
        words = np.array([min(sum(word >= 0 for word in row.tolist()), 2) for row in rules.words], np.int64)
        matches = rules.matches
        size = np.where(matches[:, 5] >= 0, matches[:, 6] - matches[:, 5], matches[:, 4] - matches[:, 3])
        rows = [[float(k * c)] for k in range(int(size.max(initial=0)) + 1) for c in range(3)]
        return HoleRows(words, 3, size, FeatureRows.from_dense(HOLE_NAMES[4:], np.array(rows)))
